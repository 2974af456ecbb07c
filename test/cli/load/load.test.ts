import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import type { LoadResult } from '../../../src/cli/load/result.ts';
import { hasBrowser, startBrowser } from '../../stack/chromium.ts';
import { startLaurel } from '../../laurel.ts';
import { inFewFiles } from '../../stack/in-few-files.ts';
import { STUDY_APP } from '../../study-app.ts';
import { runCli, type Ended } from '../run-cli.ts';
import { opened } from '../../stack/opened.ts';

let folder: string;
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-load-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const load = (...words: string[]): Promise<Ended> =>
  runCli(['load', '--url', laurel.appUrl, ...words], { ADMIN_API_KEY: laurel.adminKey, ADMIN_URL: undefined });
const withAdmin = (...words: string[]): Promise<Ended> => load('--admin-url', laurel.adminUrl, ...words);
const users = async (search: string): Promise<number> =>
  (await laurel.admin.get(`/v1/users?search=${search}&limit=100`)).body.length;

test('a load with batches, reads and streams of two processes loses nothing; its report opens in a browser', async () => {
  const scenario = join(folder, 'evening.json');
  const requests = [
    { kind: 'event', weight: 12 },
    { kind: 'batch', events: 20 },
    { kind: 'total' },
    { kind: 'leaderboard' },
    { kind: 'summary' },
  ];
  const settings = {
    requests,
    users: 40,
    rate: '0s:20,2s:40',
    duration: '3s',
    warmUp: '500ms',
    streams: 2,
    keyed: 0.5,
  };
  await writeFile(scenario, JSON.stringify({ ...settings, metrics: { flips: 3, 'load-only': 1 } }));
  const [report, json] = [join(folder, 'report.html'), join(folder, 'result.json')];
  const words = ['--scenario', scenario, '--processes', '2', '--seed', '7', '--verify'];
  const ended = await withAdmin(...words, '--report', report, '--json', json);
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('none lost, none doubled') });
  expect(ended.err).toContain('Created the metrics load-only.');

  const text = await readFile(json, 'utf8');
  expect(text).not.toContain(laurel.adminKey);
  const result = JSON.parse(text) as LoadResult;
  const { summary, verification, streams, server, generator, run } = result;
  expect(Object.keys(summary.statuses).map((name) => name.split(' ')[0])).toEqual(
    expect.arrayContaining(['event', 'batch', 'total', 'leaderboard', 'summary']),
  );
  expect(summary).toMatchObject({ errors: 0, unsent: 0, due: summary.answered });
  expect(result.seconds.reduce((sum, { answered }) => sum + answered, 0)).toBe(summary.answered);
  expect(generator.processes).toBe(2);
  expect(server.length).toBeGreaterThan(0);
  expect(streams).toMatchObject({ opened: 2, failed: 0 });
  // The study app's board of flips is compared; those of points and by plan are not.
  expect(verification).toMatchObject({ differing: 0, unknown: 0, leaderboards: ['flips'] });
  expect(verification!.acknowledged).toBeGreaterThanOrEqual(summary.events);
  expect(verification!.events).toBe(verification!.acknowledged);
  expect(await users(`load-${run}-`)).toBe(verification!.users);

  await opensInBrowser(report, summary.p99);
  expect(await withAdmin('--clean-run', run)).toMatchObject({ code: 0 });
  expect(await users(`load-${run}-`)).toBe(0);
});

/** The report loads nothing, draws its charts, and fits a phone. */
async function opensInBrowser(report: string, p99: number): Promise<void> {
  const html = await readFile(report, 'utf8');
  expect(html).not.toMatch(/<script|<link|@import|url\(/);
  if (!hasBrowser) return;
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(`file://${report}`);
    expect(requested).toEqual([`file://${report}`]);
    await expect.poll(() => page.locator('figure svg').count()).toBe(11);
    await expect.poll(() => page.locator('figure svg .line').count()).toBeGreaterThan(10);
    await expect.poll(() => page.locator('.findings').first().textContent()).toContain('none lost, none doubled');
    await expect.poll(() => page.locator('.tile', { hasText: 'p99' }).first().textContent()).toContain('ms');
    expect(p99).toBeGreaterThan(0);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const dark = await background();
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(background).not.toBe(dark);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await expect.poll(background).toBe('rgb(255, 255, 255)');
  } finally {
    await browser.close();
  }
}

test('Ctrl-C still writes the report; an event that the load did not send is found in total, store and leaderboard', async () => {
  const json = join(folder, 'interrupted.json');
  const addresses = ['--url', laurel.appUrl, '--admin-url', laurel.adminUrl];
  const words = ['--metric', 'flips', '--users', '1', '--rate', '20', '--duration', '1h', '--verify', '--json', json];
  const child = spawn(process.execPath, [join(await inFewFiles(), 'src/cli/main.js'), 'load', ...addresses, ...words], {
    env: { ...process.env, ADMIN_API_KEY: laurel.adminKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, progress] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (progress += chunk.toString('utf8')));
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const listed = async () => (await laurel.admin.get('/v1/users?search=load-&limit=1')).body as { id: string }[];
  await expect.poll(async () => (await listed()).length).toBe(1);
  const [user] = await listed();
  // After the warm-up, which a signal would end without a measurement.
  await expect.poll(() => progress).toContain('/3600 s');
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: user!.id }, value: 1_000 });
  child.kill('SIGINT');
  expect(await ended).toBe(1);
  expect(out).toMatch(/3 DIFFERENCES/);
  expect(out).toMatch(/flips: the total is .*, acknowledged .*\n.* events with a sum of .* are stored, acknowledged/);
  expect(out).toMatch(/leaderboard flips: the score is/);
  const { interrupted, run, summary, verification } = JSON.parse(await readFile(json, 'utf8')) as LoadResult;
  expect({ interrupted, differing: verification!.differing }).toEqual({ interrupted: true, differing: 3 });
  expect(verification!.events).toBe(verification!.acknowledged + 1);
  expect(summary.answered).toBeGreaterThan(0);
  expect(user!.id).toBe(`load-${run}-0`);
});

test('with --retries, events that were refused or recorded without an answer are sent again: none is lost or doubled', async () => {
  const tries = new Map<string, number>();
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const body = await new Response(request).text();
    const key = String(request.headers['idempotency-key']);
    const isEvent = request.method === 'POST';
    // The command also looks whether the key may send events.
    if (isEvent && key.startsWith('load-')) tries.set(key, (tries.get(key) ?? 0) + 1);
    if (isEvent && tries.get(key) === 1)
      return response.writeHead(503, { 'Retry-After': 1, 'Content-Length': 0 }).end();
    const { method, url } = request;
    const headers = { 'x-api-key': laurel.adminKey, 'content-type': 'application/json', 'idempotency-key': key };
    const answer = await fetch(laurel.appUrl + url, { method: method!, headers, ...(isEvent && { body }) });
    const text = await answer.text();
    // Recorded, but not answered.
    if (isEvent && tries.get(key) === 2) return request.socket.destroy();
    response.writeHead(answer.status, { 'Content-Length': Buffer.byteLength(text) }).end(text);
  };
  const proxy = createServer((request, response) => void pass(request, response));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    // So few that a busy machine makes all three tries of each: the command gives up ten seconds after the last was due.
    const words = ['--metric', 'flips', '--users', '5', '--rate', '5', '--duration', '4s', '--keyed', '1'];
    const ended = await withAdmin('--url', url, ...words, '--retries', '--verify', '--json');
    const { summary, verification } = JSON.parse(ended.out) as LoadResult;
    expect(summary.events).toBeGreaterThan(0);
    // What was recorded by an earlier try is answered 202.
    const ofEach = summary.events;
    // On a busy machine, tries also time out before the proxy closes them.
    const {
      'event closed': closed = 0,
      'event timeout': timeouts = 0,
      'event 503': refused = 0,
      ...done
    } = summary.statuses;
    // Laurel may refuse the second try as well, so that the third one is the first to be recorded.
    const { 'event 202': repeated = 0, 'event 201': recorded = 0, ...others } = done;
    expect(others).toEqual({});
    expect(repeated).toBeGreaterThan(0);
    expect(repeated + recorded).toBe(ofEach);
    expect(refused).toBeGreaterThanOrEqual(ofEach);
    expect(closed + timeouts).toBeGreaterThanOrEqual(ofEach);
    expect(verification).toMatchObject({ differing: 0, unknown: 0 });
    expect([verification!.events, verification!.acknowledged]).toEqual([tries.size, tries.size]);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('without the Admin API nothing is guessed or created', async () => {
  const words = ['--rate', '10', '--duration', '1s', '--connections', '4'];
  expect(await load(...words)).toMatchObject({
    code: 2,
    err: expect.stringContaining('metrics: name those of the events'),
  });
  const unknown = await load(...words, '--metric', 'flisp');
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining("there is no metric with the key 'flisp'") });
  const batches = await load(...words, '--scenario', 'batches', '--metric', 'flips');
  expect(batches).toMatchObject({ code: 2, err: expect.stringContaining("'batch' needs the Admin API") });
  const refused = await runCli(['load', '--url', laurel.appUrl, '--key', 'wrong', '--metric', 'flips'], {});
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('refuses the key (401)') });
  const onAdmin = await load('--url', laurel.adminUrl, '--admin-url', laurel.adminUrl);
  expect(onAdmin).toMatchObject({ code: 2, err: expect.stringContaining('--url must be the Application API') });
  const lost = await withAdmin('--report', join(folder, 'missing/report.html'));
  expect(lost).toMatchObject({ code: 2, err: expect.stringContaining('cannot be written (ENOENT)') });
  const known = await load(...words, '--metric', 'flips', '--verify', '--json');
  expect(known.code).toBe(0);
  expect(JSON.parse(known.out)).toMatchObject({ verification: { events: null, differing: 0 }, server: [] });
});

test('the scripts for other tools: autocannon’s records events, k6’s is valid', async () => {
  const env = {
    ...process.env,
    API_URL: laurel.appUrl,
    ADMIN_API_KEY: laurel.adminKey,
    SECONDS: '1',
    CONNECTIONS: '2',
  };
  const script = join(PACKAGE_ROOT, 'examples/autocannon/events.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, 'minutes'], { env });
  const recorded = Number(/^(\d+) events recorded/.exec(stdout)?.[1]);
  expect(recorded).toBeGreaterThan(0);
  expect(stdout).toContain('0 other answers, 0 errors');
  expect(await users('autocannon-')).toBeGreaterThan(0);
  // k6 itself is no package of Node.
  const k6 = await readFile(join(PACKAGE_ROOT, 'examples/k6/events.js'), 'utf8');
  await writeFile(join(folder, 'k6.mjs'), k6);
  await promisify(execFile)(process.execPath, ['--check', join(folder, 'k6.mjs')]);
});
