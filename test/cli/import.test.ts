import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

// `laurel import` as a process of its own. The source is another tenant of the same Laurel, behind a server that may refuse.
let laurel: TestLaurel;
let source: Server;
let folder: string;
/** What is asked, and what is answered instead; undefined: what the tenant answers. */
let asked: string[] = [];
let instead: (path: string, nth: number) => { status: number; headers?: Record<string, string> } | 'hang' | undefined;
beforeAll(async () => {
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
    response.writeHead(other.status, other.headers).end('{"error":"not now"}');
    return;
  }
  const { status, body } = await laurel.app.get(path, { tenantId: 'there' });
  response.writeHead(status).end(JSON.stringify(body));
}

const children = new Set<ChildProcess>();
function start(words: string[]): {
  child: ChildProcess;
  done: Promise<{ code: number | null; out: string; err: string }>;
} {
  const child = spawn(join(PACKAGE_ROOT, 'src/cli/laurel.mjs'), ['import', ...words], {
    env: {
      ...process.env,
      ADMIN_URL: laurel.adminUrl,
      ADMIN_API_KEY: laurel.adminKey,
      TENANT_ID: 'here',
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

test('a dry run reads, says what is missing and changes nothing; killed and run again, nobody is asked for or brought twice', async () => {
  const dry = await cli(...fromSource('--dry-run', '--sample', '1'));
  expect(dry).toMatchObject({ code: 0, err: '' });
  expect(dry.out).toMatch(/ready +1/);
  expect(await total('user/0')).toBeUndefined();
  // Once more, of what was read: what is missing is counted once.
  const [row] = await lines('users.txt.dry-run.jsonl');
  const odd = { ...row, attributes: { shoe: '44' } };
  await writeFile(join(folder, 'users.txt.dry-run.jsonl'), `${JSON.stringify(odd)}\n`);
  asked = [];
  for (const _ of ['once', 'twice'])
    expect((await cli(...fromSource('--dry-run', '--sample', '1'))).out).toMatch(/^attributes\.shoe: .* 1$/m);
  expect(asked).toEqual([]);

  // The third user is never answered: the process is killed while it waits.
  instead = (path) => (path === '/v1/users/user%2F2' ? 'hang' : undefined);
  const { child, done } = start(fromSource('--concurrency', '1'));
  await expect.poll(() => asked.includes('/v1/users/user%2F2')).toBe(true);
  child.kill('SIGKILL');
  await done;
  instead = () => undefined;
  const { code, out, err } = await cli(...fromSource());
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/imported +6/);
  // The first one, too, is read as it is now, whatever a dry run has read.
  const profiles = IDS.map((id) => asked.filter((path) => path === `/v1/users/${encodeURIComponent(id)}`).length);
  expect(profiles).toEqual([1, 1, 2, 1, 1, 1]);
  for (const id of IDS) expect(await total(id)).toBe(12);

  // Once more: nothing is asked, nothing is brought.
  asked = [];
  expect((await cli(...fromSource())).out).toMatch(/imported +6/);
  expect(asked).toEqual([]);
  // With the report gone, Laurel says that they are here.
  await rm(join(folder, 'users.txt.import-report.jsonl'));
  expect((await cli(...fromSource())).out).toMatch(/already +6/);
  // Lines go the same way, under another name they are refused.
  const again = await cli('--file', join(folder, 'users.txt.laurel.jsonl'), '--name', 'lines');
  expect(again.code).toBe(1);
  expect(again.out).toMatch(/refused +6/);
});

test('a source that refuses, fails and hangs is asked more slowly, and again; who cannot be read is reported', async () => {
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
  expect(report).toContainEqual({ id: 'user/2', status: 'read', missing: [expect.stringContaining('points.xp')] });
  expect(out).toMatch(/imported +3/);
  expect(out).toContain('points.xp');
  expect(asked.filter((path) => path === '/v1/users/user%2F0')).toHaveLength(3);
});

test('lines of a file: each by itself', async () => {
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
});
