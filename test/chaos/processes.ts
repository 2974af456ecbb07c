import { readdirSync, readFileSync } from 'node:fs';

/** The processes that a process has started and that run, by the text that their command line holds ('' for all). */
export function childrenOf(parent: number, text = ''): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent && read(`/proc/${pid}/cmdline`).includes(text));
}

/** Null: there is no such process, or it waits to be buried. */
function parentOf(pid: number): number | null {
  // After the name, which may hold anything, in brackets: state, parent.
  const [state, parent] = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return state === undefined || state === '' || state === 'Z' ? null : Number(parent);
}

/** Sends a signal to processes that may be gone. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It ended before.
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

/** Resolves when it holds; rejects after `timeoutMs`, naming what was waited for. */
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
