import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inFewFiles } from '../stack/in-few-files.ts';

export interface Ended {
  /** `null`: a signal ended it, such as the timeout of two minutes. */
  code: number | null;
  out: string;
  err: string;
}

const TIMEOUT_MS = 120_000;

/** Runs `laurel <words>` in its own process. `variables` are added to this process's environment; undefined removes one. */
export async function runCli(words: readonly string[], variables: Record<string, string | undefined>): Promise<Ended> {
  const child = spawn(process.execPath, [join(await inFewFiles(), 'src/cli/main.js'), ...words], {
    cwd: PACKAGE_ROOT,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (ended.out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (ended.err += chunk.toString('utf8')));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ended, code }));
  });
}

/** The same against a running Laurel, through its Admin API. */
export const runAdminCli = (
  laurel: { adminUrl: string; adminKey: string },
  words: readonly string[],
  variables: Record<string, string | undefined> = {},
): Promise<Ended> =>
  runCli(words, { LAUREL_KEY: undefined, ADMIN_URL: laurel.adminUrl, ADMIN_API_KEY: laurel.adminKey, ...variables });
