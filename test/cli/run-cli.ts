import { type ChildProcess, fork, spawn } from 'node:child_process';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { messageOf } from '../stack/child-process.ts';
import { inFewFiles } from '../stack/in-few-files.ts';

export interface Ended {
  /** `null`: a signal ended it, such as the timeout of two minutes. */
  code: number | null;
  out: string;
  err: string;
}

type Variables = Record<string, string | undefined>;

const TIMEOUT_MS = 120_000;

/**
 * Runs `laurel <words>` in its own process. `variables` are added to this process's environment; undefined removes one. `input` is what
 * it finds at standard input.
 */
export async function runCli(words: readonly string[], variables: Variables, input = ''): Promise<Ended> {
  const child = spawn(process.execPath, [join(await inFewFiles(), 'src/cli/main.js'), ...words], {
    cwd: PACKAGE_ROOT,
    env: { ...process.env, ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  // A command that reads nothing may end before.
  child.stdin.on('error', () => undefined).end(input);
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (ended.out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (ended.err += chunk.toString('utf8')));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ended, code }));
  });
}

/** The process that runs commands, for all files of this vitest worker. It ends with the worker. */
let host: ChildProcess | null = null;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `laurel <words>` against a running Laurel, through its Admin API, like `runCli`. All these commands share one process, which
 * runs one at a time: starting a process takes many times as much CPU as a command.
 */
export function runAdminCli(
  laurel: { adminUrl: string; adminKey: string },
  words: readonly string[],
  variables: Variables = {},
): Promise<Ended> {
  const all = { LAUREL_KEY: undefined, ADMIN_URL: laurel.adminUrl, ADMIN_API_KEY: laurel.adminKey, ...variables };
  const ended = last.then(() => runInHost(words, all));
  last = ended.catch(() => undefined);
  return ended;
}

async function runInHost(words: readonly string[], variables: Variables): Promise<Ended> {
  await inFewFiles();
  const child = (host ??= startHost());
  const answer = messageOf<Ended & { isLast?: boolean }>(child);
  // The channel leaves out what is undefined, and `messageOf` says if the host has ended.
  child.send({ words, env: { ...process.env, ...variables } }, () => undefined);
  const timeout = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  try {
    const { isLast = false, ...ended } = await answer;
    // An uncaught error ends the host.
    if (isLast) host = null;
    return ended;
  } finally {
    clearTimeout(timeout);
  }
}

function startHost(): ChildProcess {
  const child = fork(new URL('command-host.mjs', import.meta.url), {
    cwd: PACKAGE_ROOT,
    // Without the test runner's options, which load parts of it.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.once('exit', () => {
    if (host === child) host = null;
  });
  // It is not left open by a test file.
  child.unref();
  child.channel!.unref();
  return child;
}
