import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { refusalOfRead } from '../contract/contract.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { STUDY_APP } from '../study-app.ts';

// `laurel import` in its own process. The source is another tenant of the same Laurel, behind a server that enforces the
// limits of the contract and may refuse.
let laurel: TestLaurel;
let source: Server;
/** The command's file. */
let main: string;
let folder: string;
/** The request, and the answer to send instead; undefined: the tenant's answer. */
let asked: string[] = [];
let headers: Record<string, string> = {};
let instead: (
  path: string,
  nth: number,
) => { status: number; headers?: Record<string, string>; body?: string | Buffer } | 'hang' | undefined;
beforeAll(async () => {
  main = join(await inFewFiles(), 'src/cli/main.js');
  laurel = await startLaurel({ workers: true });
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [
    { customerId: 'there', name: 'There' },
    { customerId: 'here', name: 'Here' },
  ]);
  for (const tenantId of ['there', 'here']) await laurel.admin.put('/v1/configuration', STUDY_APP, { tenantId });
  for (const id of IDS)
    await laurel.app.post('/v1/metrics/flips/event', { user: { id }, value: 12 }, { tenantId: 'there' });
  source = createServer((request, response) => void forward(request, response));
  await new Promise<void>((listening) => void source.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  source.closeAllConnections();
  await new Promise((closed) => source.close(closed));
  await laurel.close();
});
beforeEach(async () => {
  headers = {};
  folder = await mkdtemp(join(tmpdir(), 'laurel-import-'));
  await writeFile(join(folder, 'users.txt'), `${IDS.join('\n')}\n`);
  asked = [];
  instead = () => undefined;
});
afterEach(() => rm(folder, { recursive: true }));

const IDS = Array.from({ length: 6 }, (_, n) => `user/${n}`);
const sourceUrl = (): string => `http://127.0.0.1:${(source.address() as AddressInfo).port}`;

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url!;
  asked.push(path);
  const other = instead(path, asked.filter((each) => each === path).length);
  if (other === 'hang') return;
  if (other !== undefined) {
    response.writeHead(other.status, other.headers).end(other.body ?? '{"error":"not now"}');
    return;
  }
  const refusal = refusalOfRead(path);
  const { status, body } =
    refusal === null
      ? await laurel.app.get(path, { tenantId: 'there' })
      : { status: refusal.status, body: { error: refusal.error } };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

const children = new Set<ChildProcess>();
function start(words: string[]): {
  child: ChildProcess;
  done: Promise<{ code: number | null; out: string; err: string }>;
} {
  const child = spawn(process.execPath, [main, 'import', ...words, '--tenant', 'here'], {
    env: {
      ...process.env,
      ADMIN_URL: laurel.adminUrl,
      ADMIN_API_KEY: laurel.adminKey,
      SOURCE_API_KEY: laurel.adminKey,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  const done = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, out, err })),
  );
  return { child, done };
}
const cli = (...words: string[]) => start(words).done;
const users = (): string => join(folder, 'users.txt');
const fromSource = (...more: string[]): string[] => [
  '--from',
  sourceUrl(),
  '--users',
  users(),
  '--rate',
  '500',
  ...more,
];
const total = async (id: string): Promise<number | undefined> =>
  (await laurel.app.get(`/v1/users/${encodeURIComponent(id)}/metrics/flips`, { tenantId: 'here' })).body.current;
const lines = async (file: string): Promise<Record<string, unknown>[]> =>
  (await readFile(join(folder, file), 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

test('a dry run reads, reports what is missing and changes nothing; a killed import that is run again reads and imports nobody twice', async () => {
  const dry = await cli(...fromSource('--dry-run', '--sample', '1'));
  expect(dry).toMatchObject({ code: 0, err: '' });
  expect(dry.out).toMatch(/ready +1/);
  expect(await total('user/0')).toBeUndefined();
  // Again with what was read: missing items are counted once.
  const [row] = await lines('users.txt.dry-run.jsonl');
  const odd = { ...row, attributes: { shoe: '44' } };
  await writeFile(join(folder, 'users.txt.dry-run.jsonl'), `${JSON.stringify(odd)}\n`);
  asked = [];
  for (const _ of ['once', 'twice'])
    expect((await cli(...fromSource('--dry-run', '--sample', '1'))).out).toMatch(
      /^attributes\.shoe: no user attribute has this key +1 +0 +user\/0$/m,
    );
  expect(asked).toEqual([]);

  // The third user gets no answer: the test kills the process while it waits.
  instead = (path) => (path === '/v1/users/user%2F2' ? 'hang' : undefined);
  const { child, done } = start(fromSource('--concurrency', '1'));
  await expect.poll(() => asked.includes('/v1/users/user%2F2')).toBe(true);
  child.kill('SIGKILL');
  await done;
  instead = () => undefined;
  const { code, out, err } = await cli(...fromSource());
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/imported +6/);
  // The first user is read again as well, although a dry run has read it.
  const profiles = IDS.map((id) => asked.filter((path) => path === `/v1/users/${encodeURIComponent(id)}`).length);
  expect(profiles).toEqual([1, 1, 2, 1, 1, 1]);
  for (const id of IDS) expect(await total(id)).toBe(12);

  // Again: reads nothing and imports nothing.
  asked = [];
  expect((await cli(...fromSource())).out).toMatch(/imported +6/);
  expect(asked).toEqual([]);
  // Without the report, Laurel still knows that these users are imported.
  await rm(join(folder, 'users.txt.import-report.jsonl'));
  expect((await cli(...fromSource())).out).toMatch(/already +6/);
  // Lines are imported the same way; under another import name they are refused.
  const again = await cli('--file', join(folder, 'users.txt.laurel.jsonl'), '--name', 'lines');
  expect(again.code).toBe(1);
  expect(again.out).toMatch(/refused +6/);
});

test('slows down and retries if a source refuses, fails or hangs; reports unreadable users', async () => {
  await laurel.admin.delete(`/v1/users?ids=${IDS.map(encodeURIComponent).join(',')}`, { tenantId: 'here' });
  await writeFile(users(), 'user/0\nnobody\nuser/1\nuser/2\n');
  instead = (path, nth) => {
    if (path === '/v1/users/user%2F0' && nth <= 2) return { status: 429, headers: { 'Retry-After': '0.2' } };
    if (path === '/v1/users/user%2F1' && nth === 1) return { status: 500 };
    if (path.startsWith('/v1/users/user%2F2/points/xp')) return { status: 403 };
    return undefined;
  };
  const { code, out } = await cli(...fromSource('--concurrency', '1'));
  expect(code).toBe(1);
  const report = await lines('users.txt.import-report.jsonl');
  expect(report.filter(({ status }) => status === 'unread')).toEqual([
    { id: 'nobody', status: 'unread', why: expect.stringContaining('404') },
  ]);
  expect(report).toContainEqual({ id: 'user/2', status: 'read', unread: [expect.stringContaining('points.xp')] });
  expect(out).toMatch(/imported +3/);
  expect(out).toMatch(/^NOT READ: 2 USERS +USERS +FOR EXAMPLE$/m);
  expect(out).toMatch(/^points\.xp: the source answers 403: not now +1 +user\/2$/m);
  expect(out).toMatch(/^404: .* +1 +nobody$/m);
  expect(asked.filter((path) => path === '/v1/users/user%2F0')).toHaveLength(3);
});

test('imports each line of a file by itself', async () => {
  const file = join(folder, 'users.jsonl');
  const bad = ['{"id":"l2","metrics":{"flips":{"total":"12"}}}', 'no JSON', '{"name":"No ID"}'];
  await writeFile(file, ['{"id":"l1","metrics":{"flips":{"total":3,"days":{"2026-01-02":3}}}}', ...bad].join('\n'));
  const { code, out } = await cli('--file', file);
  expect(code).toBe(1);
  expect(out).toMatch(/imported +1/);
  expect(out).toMatch(/refused +3/);
  expect(await total('l1')).toBe(3);
  expect((await lines('users.jsonl.import-report.jsonl')).map(({ id }) => id)).toEqual([
    'line 3',
    'line 4',
    'l1',
    'l2',
  ]);
  expect((await cli('--file', file, '--from', 'http://localhost')).err).toContain('Either --from or --file');

  // The result is that of this file, not of an earlier one with this name.
  await writeFile(file, '{"id":"l3","metrics":{"flips":{"total":4}}}');
  const shorter = await cli('--file', file);
  expect(shorter).toMatchObject({ code: 0, err: '' });
  expect(shorter.out).toMatch(/imported +1\b/);
  expect(shorter.out).not.toContain('refused');
});

test('reports skipped users and metrics with reasons, and does not count them as imported', async () => {
  const file = join(folder, 'skipped.jsonl');
  const metrics = { steps: { total: 3, days: { '2026-01-02': 1, '2026-01-03': 2 } } };
  const rows = [{ id: 's1', metrics }, { id: 's2', metrics }, { id: 's3', tz: 'Mars/Base' }, { id: 's4' }];
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { code, out } = await cli('--file', file);
  expect(code).toBe(1);
  expect(out).toMatch(/^imported +3$/m);
  expect(out).toMatch(/^skipped +1$/m);
  expect(out).toMatch(/^metrics\.steps: no metric has this key +2 +4 +s1, s2$/m);
  expect(out).toMatch(/^tz: 'Mars\/Base' is not an IANA time zone +1 +0 +s3$/m);
  // The same command imports a corrected line.
  await writeFile(file, `${JSON.stringify({ id: 's3', tz: 'Europe/Berlin' })}\n`);
  const again = JSON.parse((await cli('--file', file, '--json')).out);
  expect(again.users).toEqual({ imported: 1 });
  expect(again.skipped).toEqual([]);
});

test('refuses only the user that is too long for a request', async () => {
  const file = join(folder, 'long.jsonl');
  const rows = [{ id: 'short 1' }, { id: 'long', name: 'x'.repeat(5_000_000) }, { id: 'short 2' }];
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { code, err } = await cli('--file', file);
  expect([code, err]).toEqual([1, '']);
  const lines = (await readFile(`${file}.import-report.jsonl`, 'utf8')).trim().split('\n');
  const outcomes = lines.map((line) => JSON.parse(line) as { id: string; status: string });
  expect(outcomes.map(({ id, status }) => `${id} ${status}`)).toEqual([
    'short 1 imported',
    'long refused',
    'short 2 imported',
  ]);
});

test('a redirect of the source ends the command, and the key is sent nowhere else', async () => {
  const keys: unknown[] = [];
  const elsewhere = createServer((request, response) => {
    keys.push(request.headers['x-api-key']);
    response.end('{}');
  });
  await new Promise<void>((listening) => void elsewhere.listen(0, '127.0.0.1', listening));
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  instead = () => ({ status: 302, headers: { location } });
  const { code, err } = await cli(...fromSource());
  expect([code, err]).toEqual([2, expect.stringContaining('--from must be the address of the API itself')]);
  expect(err).toContain(location);
  expect(keys).toEqual([]);
  await new Promise((closed) => elsewhere.close(closed));
});

test('stops reading an answer that is too long, compressed or not, and reports an answer of another type', async () => {
  const long = Buffer.alloc(17 * 1_048_576, ' ');
  instead = (path) => {
    if (path === '/v1/users/user%2F0') return { status: 200, body: long };
    if (path === '/v1/users/user%2F1')
      return { status: 200, headers: { 'content-encoding': 'gzip' }, body: gzipSync(long) };
    if (path === '/v1/users/user%2F2') return { status: 404, body: '{"error":"\\u001b[2Jgone"}' };
    if (path === '/v1/users/user%2F3') return { status: 200, body: 'null' };
    return undefined;
  };
  const { code } = await cli(...fromSource());
  expect(code).toBe(1);
  const lines = (await readFile(`${users()}.import-report.jsonl`, 'utf8')).trim().split('\n');
  const unread = lines.map((line) => JSON.parse(line) as { id: string; status: string; why?: string });
  expect(unread.filter(({ status }) => status === 'unread').toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
    { id: 'user/0', status: 'unread', why: 'more than 16 MiB' },
    { id: 'user/1', status: 'unread', why: 'more than 16 MiB' },
    { id: 'user/2', status: 'unread', why: '404:  [2Jgone' },
    { id: 'user/3', status: 'unread', why: 'The source does not answer as the Application API does' },
  ]);
});

test('a refused history is a failure, and the terminal shows its reason', async () => {
  await laurel.admin.delete(`/v1/users?ids=${IDS.map(encodeURIComponent).join(',')}`, { tenantId: 'here' });
  const why = 'The date range must not exceed 30 days';
  instead = (path) =>
    path.includes('event-summary') ? { status: 422, body: JSON.stringify({ error: why }) } : undefined;
  const { code, out } = await cli(...fromSource('--concurrency', '1'));
  expect(code).toBe(1);
  expect(out).toMatch(/^NOT READ: 6 USERS/m);
  expect(out).toMatch(new RegExp(`^metrics\\.flips\\.days: .*422: ${why} +6 +user/0, user/1, user/2$`, 'm'));
  // Imported users stay; the files still list what could not be read.
  expect((await cli(...fromSource())).code).toBe(1);
});

test('the address may end with /v1; the headers of the source set the pace', async () => {
  await laurel.admin.delete(`/v1/users?ids=${IDS.map(encodeURIComponent).join(',')}`, { tenantId: 'here' });
  const args = ['--from', `${sourceUrl()}/v1/`, '--users', users(), '--dry-run', '--sample', '1', '--concurrency', '1'];
  const at: number[] = [];
  instead = () => {
    at.push(performance.now());
    return undefined;
  };
  headers = { 'X-RateLimit-Remaining': '4', 'RateLimit-Reset': '2' };
  const { code, err } = await cli(...args);
  expect([code, err]).toEqual([0, '']);
  // The first answer allows one request per half second. Nobody answers before the first request is here, which a busy
  // machine may receive late.
  const allowedMs = 500 * (at.length - 2);
  expect(at.length).toBeGreaterThan(2);
  expect(at.at(-1)! - at[0]!).toBeGreaterThan(0.8 * allowedMs);
});
