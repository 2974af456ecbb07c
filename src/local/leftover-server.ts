import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const WAIT_MS = 15_000;

/**
 * Ends the server that a killed Laurel left on this data, if its guard has not done so yet, and waits until it
 * is gone: two servers on the same files would spoil them. Call it only while holding the data directory.
 */
export async function endLeftoverServer(directory: string): Promise<void> {
  const pid = Number(await readFile(pidFile(directory), 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return;
  const deadline = Date.now() + WAIT_MS;
  let asked = false;
  while (await isServerOf(pid, directory)) {
    const late = Date.now() > deadline;
    if (late || !asked) process.kill(pid, late ? 'SIGKILL' : 'SIGINT');
    asked = true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await rm(pidFile(directory), { force: true });
}

/** Notes the server, so that the next start finds it if this process is killed. */
export async function noteServer(directory: string, pid: number): Promise<void> {
  await writeFile(pidFile(directory), String(pid));
}

const pidFile = (directory: string): string => `${directory}.pid`;

/** A process number alone proves nothing: another process may have it by now. Its command names the directory. */
async function isServerOf(pid: number, directory: string): Promise<boolean> {
  const command = await readFile(join('/proc', String(pid), 'cmdline'), 'utf8').catch(() => '');
  return command.includes(directory);
}
