/** What a server may need of this process's environment: to find programs, libraries and a place for temporary files. */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'TZDIR'] as const;

/**
 * The environment of a private server. It has nothing else of this process's: keys and passwords that Laurel is configured with
 * would be readable, for as long as the server runs, by everybody who may look at it.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const needed = NEEDED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(needed), LC_ALL: 'C' };
}
