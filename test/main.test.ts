import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../src/local/free-ports.ts';
import { runCli } from './cli/run-cli.ts';
import { Start } from './processes/start.ts';
import { DATA_FOLDER } from './stack/data-folder.ts';
import { inFewFiles } from './stack/in-few-files.ts';

// Runs `npm start` in its own process on an empty data directory. It uses the built code: `npm test` builds it first. The
// first start, and those of npm itself, load `dist` directly; the others load a copy in few files.
const AS_BUILT = 'dist/src/main.js';
const run = promisify(execFile);
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);

/** Command lines of the processes that contain this text, except those about to be reaped. */
function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const [command, environment] = ['cmdline', 'environ'].map((file) =>
          readFileSync(`/proc/${pid}/${file}`, 'utf8'),
        );
        return `${command}\0${environment}`.includes(text) ? [command!.replaceAll('\0', ' ')] : [];
      } catch {
        return [];
      }
    });
}

let dataDir: string;
let variables: NodeJS.ProcessEnv;
let fewFiles: string;
const starts: Start[] = [];

function start(more: NodeJS.ProcessEnv = {}, command = ['node', join(fewFiles, 'src/main.js')]): Start {
  const started = new Start({ ...variables, ...more }, command);
  starts.push(started);
  return started;
}

beforeAll(async () => {
  fewFiles = await inFewFiles();
  dataDir = await mkdtemp(join(DATA_FOLDER, 'laurel-test-start-'));
  variables = { DATA_DIR: dataDir, APP_PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
});

afterAll(async () => {
  // Ends what a failed test left; its servers end by themselves when it is killed.
  for (const { process: child } of starts.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
});

/** Resolves when no process uses the data any longer. Polls rarely, since each check reads `/proc` for every process. */
const nothingRuns = (): Promise<void> => expect.poll(() => processesWith(dataDir).length, { interval: 200 }).toBe(0);

describe('npm start', () => {
  let key = '';
  /** The running one, shared by consecutive tests. */
  let laurel: Start;

  test('on an empty machine: prints a key and a line that submits an event; Ctrl-C leaves nothing running', async () => {
    laurel = start({}, ['node', AS_BUILT]);
    await laurel.running();
    key = /Admin key +(\S+)/.exec(laurel.output)?.[1] ?? '';
    expect(key).toMatch(/^[\w-]+\.[\w-]{16,}$/);
    expect(laurel.output).toMatch(
      /^\[1\/3\] Servers: private Redis and Postgres in .* …\n[^]*^\[1\/3\] .*: [\d.]+ s\n[^]*^\[2\/3\] Database: .*\n[^]*^\[3\/3\] Processes: worker and frontend …\n/m,
    );
    const line = /^ +curl [^]*?'$/m.exec(laurel.output)?.[0] ?? '';
    expect(line).toContain(key);
    expect(line).toContain('/v1/metrics/flashcards-flipped/event');

    // A start waits only 2 s for its servers, which may be too short on a busy machine.
    await ready();
    const answer = hasCurl ? (await run('sh', ['-c', line])).stdout : await pastedWithoutCurl(line);
    expect(JSON.parse(answer)).toMatchObject({ total: 12, currentStreak: { length: 1, extended: true } });
    const shown = JSON.parse(answer) as { achievements: unknown[]; points: object; leaderboards: object };
    expect(shown.achievements.length).toBeGreaterThan(0);
    expect(Object.keys(shown.points)).not.toEqual([]);
    expect(Object.keys(shown.leaderboards)).not.toEqual([]);

    expect(await laurel.end('SIGINT')).toBe(0);
    await nothingRuns();
  });

  test('the next start finds its data, the key included; a dead process comes back; the event is in Postgres', async () => {
    laurel = start({ HTTP_PROCESSES: '2' });
    await laurel.running();
    expect(laurel.output).not.toContain('Admin key  ');
    expect(await event(key, 1)).toMatchObject({ total: 13 });

    const pidOf = (): number => Number(/"process":"frontend","pid":(\d+)/.exec(laurel.output)?.[1]);
    await expect.poll(pidOf).toBeGreaterThan(0);
    process.kill(pidOf(), 'SIGKILL');
    expect(await event(key, 1)).toMatchObject({ total: 14 });
    await expect.poll(() => laurel.output).toContain('a process exited; restarting it');

    const password = readFileSync(join(dataDir, 'password'), 'utf8');
    const port = Number(
      /port=(\d+)/.exec(processesWith(`${dataDir}/postgres`).find((line) => line.includes('port=')) ?? '')?.[1],
    );
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'laurel', password, database: 'postgres' });
    await client.connect();
    try {
      await expect
        .poll(async () => {
          const { rows } = await client.query<{ stored: number }>('SELECT count(*)::int AS stored FROM events');
          return rows[0]?.stored === 3;
        })
        .toBe(true);
    } finally {
      await client.end();
    }
  });

  test('killed outright, its servers and processes end too, and nothing that was answered is lost', async () => {
    expect(await event(key, 1)).toMatchObject({ total: 15 });
    await laurel.end('SIGKILL');
    await nothingRuns();

    laurel = start();
    await laurel.running();
    expect(await event(key, 1)).toMatchObject({ total: 16 });
  });

  test('its servers are those of a command beside it, which leaves them running', async () => {
    const own = { ...variables, REDIS_URL: undefined, DATABASE_URL: undefined };
    const verified = await runCli(['verify'], own);
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('No differences.') });
    expect(await event(key, 1)).toMatchObject({ total: 17 });
  });

  test('refuses a second one beside it, for its port or for its data', async () => {
    const port = Number(variables['APP_PORT']);
    const second = start();
    expect(await second.end()).toBe(1);
    expect(second.output).toBe(
      `Port ${port} is in use by another program. Stop that program, or set APP_PORT to another port.\n`,
    );
    const third = start({ APP_PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) });
    expect(await third.end()).toBe(1);
    expect(third.output).toMatch(/\nLaurel is already running with the data in .*\n$/);
    expect(await laurel.end('SIGTERM')).toBe(0);
    await nothingRuns();
  });

  test('SIGTERM or SIGKILL to npm itself, or a closed terminal, leaves nothing running, the port free and the data intact', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      // Without its own build, which would remove files that other tests run.
      const npm = start({}, ['npm', 'start', '--ignore-scripts']);
      await npm.running();
      await npm.end(signal);
      await nothingRuns();
    }
    const next = start();
    await next.running();
    expect(await event(key, 1)).toMatchObject({ total: 18 });
    expect(await next.end('SIGHUP')).toBe(0);
    await nothingRuns();
  });

  test('a start that is interrupted when the first key is made shows the key: the next start cannot', async () => {
    const data = await mkdtemp(join(DATA_FOLDER, 'laurel-test-start-'));
    try {
      const calledOff = start({ DATA_DIR: data });
      await expect.poll(() => calledOff.output).toContain('worker started');
      expect(await calledOff.end('SIGINT')).toBe(0);
      const made = /Admin key +(\S+)/.exec(calledOff.output)?.[1] ?? '';
      const next = start({ DATA_DIR: data });
      await next.running();
      expect(next.output).not.toContain('Admin key  ');
      expect(await event(made, 1)).toMatchObject({ total: 1 });
      expect(await next.end('SIGINT')).toBe(0);
    } finally {
      await rm(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    }
  });

  test.each([
    [{ NODE_ENV: 'production' }, 'both REDIS_URL and DATABASE_URL must be set'],
    [{ APP_PORT: 'x' }, 'APP_PORT must be a whole number'],
    [{ DATA_DIR: '/proc/laurel/data' }, 'The data directory /proc/laurel/data (DATA_DIR) cannot be created: '],
  ])('%o ends with a sentence and no stack', async (more, sentence) => {
    const laurel = start(more);
    expect(await laurel.end()).toBe(1);
    expect(laurel.output).toContain(sentence);
    expect(laurel.output).not.toMatch(/^ +at /m);
  });
});

let sent = 0;

/** Sends an event like a client: with its own key until it is accepted. Returns the answer. */
async function event(key: string, value: number): Promise<unknown> {
  const idempotencyKey = `event ${(sent += 1)}`;
  let answer: unknown = null;
  const send = async (): Promise<boolean> => {
    const response = await fetch(`http://127.0.0.1:${variables['APP_PORT']}/v1/metrics/flashcards-flipped/event`, {
      method: 'POST',
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ user: { id: 'ada' }, value }),
    });
    answer = await response.json();
    return response.ok;
  };
  await expect.poll(() => send().catch(() => false)).toBe(true);
  return answer;
}

const ready = (): Promise<void> =>
  expect.poll(async () => (await fetch(`http://127.0.0.1:${variables['APP_PORT']}/readyz`)).status).toBe(200);

/** The same request for a machine without curl: the text in the line's quotes. */
async function pastedWithoutCurl(line: string): Promise<string> {
  const [url = ''] = /http:\S+/.exec(line) ?? [];
  const headers = [...line.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name = '', value = '']): [string, string] => [
    name,
    value,
  ]);
  const body = /-d '(.*)'/.exec(line)?.[1] ?? '';
  return (await fetch(url, { method: 'POST', headers, body })).text();
}
