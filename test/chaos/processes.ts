import { readdirSync, readFileSync } from 'node:fs';

/** Running child processes of a process, with the text of their command lines ('' for all). */
export function childrenOf(parent: number, text = ''): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent && read(`/proc/${pid}/cmdline`).includes(text));
}

/** `null`: the process does not exist, or is a zombie. */
function parentOf(pid: number): number | null {
  // State and parent follow the name, which is in brackets and may contain anything.
  const [state, parent] = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return state === undefined || state === '' || state === 'Z' ? null : Number(parent);
}

/** Signals processes that may already be gone. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It had already ended.
    }
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Resolves when the condition holds; after `timeoutMs` rejects with the name of the condition. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`In ${timeoutMs / 1000} s this did not come true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
