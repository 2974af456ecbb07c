import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ShadowReport } from '../../src/cli/shadow-report.ts';
import type { Configuration } from '../../src/domain/configuration.ts';
import { startLaurel } from '../laurel.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

// `laurel shadow` in its own process, between two Laurels and in front of a misbehaving source.
interface Shadow {
  url: string;
  /** The current report. */
  report: () => Promise<ShadowReport>;
  /** Waits until the report says so. */
  until: (isSo: (report: ShadowReport) => boolean) => Promise<ShadowReport>;
  /** Stops it like Ctrl-C. */
  end: () => Promise<{ code: number | null; report: ShadowReport; err: string }>;
}

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

async function startShadow({
  from,
  to,
  key,
  options = [],
}: {
  from: string;
  to: string;
  key: string;
  options?: string[];
}): Promise<Shadow> {
  const words = ['--from', from, '--to', to, '--listen', '0', '--report-at', '0', '--json', ...options];
  const child = spawn(process.execPath, [join(await inFewFiles(), 'src/cli/main.js'), 'shadow', ...words], {
    env: { ...process.env, ADMIN_API_KEY: key, TENANT_ID: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const at = (words: RegExp): string | undefined => words.exec(err)?.[1];
  await expect.poll(() => at(/The report is at (\S+)\./) ?? child.exitCode).not.toBeNull();
  if (child.exitCode !== null) throw new Error(err);
  const report = async (): Promise<ShadowReport> =>
    (await (await fetch(at(/The report is at (\S+)\./)!)).json()) as ShadowReport;
  return {
    url: at(/Forwarding (\S+) to/)!,
    report,
    until: async (isSo) => {
      await expect.poll(async () => isSo(await report()) || (await report())).toBe(true);
      return report();
    },
    end: async () => {
      child.kill('SIGINT');
      const code = await closed;
      children.delete(child);
      return { code, report: JSON.parse(out) as ShadowReport, err };
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers of any shape
type Body = any;

async function ask(
  url: string,
  request: { key: string; method?: string; path: string; body?: object; headers?: Record<string, string> },
): Promise<{ status: number; body: Body }> {
  const { key, method = 'GET', path, body, headers } = request;
  const response = await fetch(url + path, {
    method,
    headers: { 'X-API-KEY': key, ...(body && { 'Content-Type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
    redirect: 'manual',
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

/** A week of an app's requests, by users who begin, continue, read and make errors. */
async function useApp(url: string, key: string): Promise<void> {
  const get = (path: string) => ask(url, { key, path });
  const send = (method: string, path: string, body: object, headers?: Record<string, string>) =>
    ask(url, { key, method, path, body, ...(headers && { headers }) });
  const event = (id: string, value: number, headers?: Record<string, string>) =>
    send('POST', '/v1/metrics/flips/event', { user: { id }, value, attributes: { deck: 'es' } }, headers);
  await send('POST', '/v1/users', { id: 'ada', name: 'Ada Lovelace', email: 'ada@example.org', tz: 'Europe/London' });
  await send('PUT', '/v1/users/grace%2Fh', { name: 'Grace', attributes: { plan: 'pro' } });
  await event('ada', 7, { 'Idempotency-Key': 'first' });
  await event('ada', 7, { 'Idempotency-Key': 'first' });
  await event('grace/h', 12.5);
  await event('ada', 4);
  await event('new here', 1);
  await send('POST', '/v1/achievements/tour/complete', { user: { id: 'ada' } });
  await send('PATCH', '/v1/users/ada', { attributes: { plan: 'free' } });
  await send('PATCH', '/v1/users/ada/preferences', { notifications: { recap: ['email'] } });
  await event('ada', 3);
  await send('POST', '/v1/metrics/nothing/event', { user: { id: 'ada' }, value: 1 });
  await send('POST', '/v1/metrics/flips/event', { user: { id: 'ada' } });
  for (const path of [
    '/users/ada',
    '/users/nobody',
    '/users/ada/preferences',
    '/users/ada/metrics',
    '/users/grace%2Fh/metrics/flips',
    '/users/ada/achievements?includeIncomplete=true',
    '/users/ada/streak?historyPeriods=7',
    '/users/ada/points/xp?awards=10',
    '/users/ada/leaderboards/flips',
    '/users/ada/wrapped',
    '/achievements',
    '/leaderboards',
    '/leaderboards/flips',
    '/leaderboards/plans?userAttributes=plan:pro',
    '/points/xp',
    '/points/xp/summary',
    '/points/xp/levels',
    '/streaks?userIds=ada&userIds=grace%2Fh',
  ])
    await get(`/v1${path}`);
}

describe('between two Laurels', () => {
  /** The report of a run of an app between one Laurel and a second one with another configuration. */
  async function shadowed(configuration: Configuration) {
    const [source, second] = [
      await startLaurel({ configuration: STUDY_APP, workers: true }),
      await startLaurel({ configuration, workers: true }),
    ];
    try {
      const shadow = await startShadow({ from: `${source.appUrl}/v1`, to: second.appUrl, key: second.adminKey });
      await useApp(shadow.url, source.adminKey);
      return await shadow.end();
    } finally {
      await source.close();
      await second.close();
    }
  }

  test('the report is empty with the same rules', async () => {
    const { code, report, err } = await shadowed(STUDY_APP);
    expect(report.differences).toEqual([]);
    expect(report).toMatchObject({
      forwarded: 31,
      compared: 31,
      equal: 31,
      withoutOthers: 0,
      dropped: 0,
      notCompared: {},
    });
    expect(report.setAside.users).toBe(0);
    expect(err).not.toContain('Differs');
    expect(code).toBe(0);
  });

  test('the report is also empty with many concurrent users, and both have counted the same', async () => {
    const [source, second] = [
      await startLaurel({ configuration: STUDY_APP, workers: true }),
      await startLaurel({ configuration: STUDY_APP, workers: true }),
    ];
    const shadow = await startShadow({ from: source.appUrl, to: second.appUrl, key: second.adminKey });
    const key = source.adminKey;
    const oneUser = async (user: string): Promise<void> => {
      for (let value = 1; value <= 10; value += 1) {
        const body = { user: { id: user }, value };
        await ask(shadow.url, { key, method: 'POST', path: '/v1/metrics/flips/event', body });
        await ask(shadow.url, { key, path: `/v1/users/${user}/leaderboards/flips` });
        await ask(shadow.url, { key, path: '/v1/leaderboards/flips' });
      }
    };
    const users = Array.from({ length: 20 }, (_, index) => `user-${index}`);
    await Promise.all(users.map(oneUser));
    // The end drops what Laurel has not answered within its limit.
    await shadow.until(
      ({ compared, notCompared }) => Object.values(notCompared).reduce((a, b) => a + b, compared) === 600,
    );
    const { report, code } = await shadow.end();
    const boards = await Promise.all([source, second].map(({ app }) => app.get('/v1/leaderboards/flips?limit=50')));
    const sums = boards.map(({ body }) => body.rankings.map(({ value }: { value: number }) => value));
    await source.close();
    await second.close();
    expect(report.differences).toEqual([]);
    // The comparison omits ranks if others wrote, and reads of all users.
    const reasons = Object.keys(report.notCompared);
    expect(reasons.filter((each) => each !== 'a read of several users while one of them was written')).toEqual([]);
    expect(report).toMatchObject({ forwarded: 600, dropped: 0, asked: 20, setAside: { users: 0 } });
    expect(report.compared).toBeGreaterThanOrEqual(400);
    expect(report.withoutOthers).toBeGreaterThan(0);
    expect(sums[0]).toEqual(Array.from({ length: 20 }, () => 55));
    expect(sums[1]).toEqual(sums[0]);
    expect(code).toBe(0);
  });

  test('with other rules the report names exactly the fields that differ', async () => {
    const [system] = STUDY_APP.pointsSystems!;
    const { code, report, err } = await shadowed({
      ...STUDY_APP,
      achievements: STUDY_APP.achievements!.filter(({ key }) => key !== 'tour'),
      pointsSystems: [
        {
          ...system!,
          triggers: system!.triggers!.map((each) => (each.type === 'metric' ? { ...each, points: 11 } : each)),
        },
      ],
    });
    expect(code).toBe(1);
    expect(report).toMatchObject({ forwarded: 31, compared: 31, dropped: 0, notCompared: {} });
    const found = report.differences.map(({ operation, path, count }) => `${operation} ${path} ${count}`);
    for (const expected of [
      // Each event that brings points names them.
      'POST /v1/metrics/{key}/event points.xp.total 3',
      'POST /v1/metrics/{key}/event points.xp.added 3',
      'POST /v1/metrics/{key}/event points.xp.awards[].awarded 3',
      'POST /v1/achievements/{key}/complete status 1',
      'GET /v1/users/{id}/points/{key} total 1',
      'GET /v1/users/{id}/achievements [] 1',
      'GET /v1/points/{key} triggers[].points 1',
      'GET /v1/achievements [] 1',
    ])
      expect(found).toContain(expected);
    const paths = report.differences.map(({ path }) => path.split(/[.[]/).at(-1) ?? path);
    expect(paths.filter((path) => /^(id|eventId|created|updated|achievedAt|date)$/.test(path))).toEqual([]);
    for (const same of ['streak', 'leaderboards/{key}', 'metrics', 'preferences'])
      expect(found.filter((each) => each.startsWith(`GET /v1/users/{id}/${same} `))).toEqual([]);
    expect(report.differences.find(({ path }) => path === 'status')!.examples).toMatchObject([
      {
        request: 'POST /v1/achievements/tour/complete',
        user: 'ada',
        source: 201,
        laurel: expect.stringMatching(/^404 /),
      },
    ]);
    const total = report.differences.find(
      ({ operation, path }) => operation.endsWith('/event') && path === 'points.xp.total',
    );
    expect(total!.examples[0]).toMatchObject({ user: 'ada', source: 30, laurel: 32 });
    expect(err).toContain('Differs: POST /v1/metrics/{key}/event points.xp.total: user ada: source 30, Laurel 32');
  });
});

describe('in front of any source', () => {
  let source: Server;
  /** Requests that the source received, and its answers. */
  let asked: { line: string; headers: string[]; body: string }[];
  let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  /** The connection to Laurel; `isCut`: nothing passes. */
  let isCut = false;
  const sockets = new Set<Socket>();
  const relay = createTcpServer((socket) => {
    const { port } = new URL(laurel.appUrl);
    const onward = connect(Number(port), '127.0.0.1');
    for (const each of [socket, onward]) {
      sockets.add(each);
      each
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(each);
          socket.destroy();
          onward.destroy();
        });
    }
    if (isCut) socket.destroy();
    else socket.pipe(onward).pipe(socket);
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  const addressOf = (server: Server | typeof relay): string =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
  beforeAll(async () => {
    source = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        asked.push({ line: `${request.method} ${request.url}`, headers: request.rawHeaders, body });
        answer(request, response, body);
      });
    });
    for (const server of [source, relay])
      await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  });
  afterAll(async () => {
    cut();
    source.closeAllConnections();
    for (const server of [source, relay]) await new Promise((closed) => server.close(closed));
  });
  beforeEach(() => {
    asked = [];
    isCut = false;
    answer = (_, response) => void response.end('{}');
  });

  const KEY = 'the-key-of-a-client';
  const shadow = (...options: string[]) =>
    startShadow({ from: addressOf(source), to: addressOf(relay), key: laurel.adminKey, options });
  const json = (response: ServerResponse, status: number, body: object): void =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  const event = (url: string, id: string, headers: Record<string, string> = {}) =>
    ask(url, { key: KEY, method: 'POST', path: '/v1/metrics/flips/event', body: { user: { id }, value: 2 }, headers });
  const totalOf = async (id: string): Promise<number | undefined> =>
    (await laurel.app.get(`/v1/users/${id}/metrics/flips`)).body.current;
  /** A source for which each user is new. */
  const newUsers = (request: IncomingMessage, response: ServerResponse): void =>
    request.method === 'GET'
      ? json(response, 200, { created: new Date().toISOString() })
      : json(response, 201, { eventId: 'e', total: 2 });

  test('passes on the exact bytes of both sides: paths, headers, compressed bodies, redirects, errors', async () => {
    const { url, end } = await shadow();
    const packed = gzipSync(JSON.stringify({ total: 1 }));
    const answers: [number, string[], Buffer][] = [
      [
        200,
        [
          'Content-Type',
          'application/json',
          'Content-Encoding',
          'gzip',
          'X-Odd-CASE',
          'a',
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
        ],
        packed,
      ],
      [307, ['Location', 'https://elsewhere.example/v1/users/18'], Buffer.alloc(0)],
      [418, ['Content-Type', 'text/html'], Buffer.from('<p>Gr\u00fcezi')],
      [503, ['Retry-After', '7'], Buffer.from('{"error":"maintenance"}')],
    ];
    for (const [status, headers, body] of answers) {
      answer = (_, response) => void response.writeHead(status, headers).end(body);
      const got = await raw(`${url}/v1/users/a%2e%2e%2Fb//?x=%20&x=+`, {
        method: 'PATCH',
        headers: ['X-API-KEY', KEY, 'x-ODD', '1', 'Content-Type', 'application/json', 'Transfer-Encoding', 'chunked'],
        body: '{"name" : "A"}',
      });
      expect([got.status, got.body]).toEqual([status, body]);
      expect(got.headers.slice(0, headers.length)).toEqual(headers);
      const patch = asked.findLast(({ line }) => line.startsWith('PATCH'))!;
      expect(patch).toMatchObject({ line: 'PATCH /v1/users/a%2e%2e%2Fb//?x=%20&x=+', body: '{"name" : "A"}' });
      expect(patch.headers.join(' ')).toContain(`X-API-KEY ${KEY} x-ODD 1 Content-Type application/json`);
      expect(patch.headers).toContain(new URL(addressOf(source)).host);
    }
    // Nobody follows the redirect.
    expect((await end()).report.notCompared).toMatchObject({
      'the source answered 307': 1,
      'the source answered 503': 1,
    });
  });

  test('if the source is away, breaks off or may have counted, the client learns it, and the user is excluded', async () => {
    const { url, until, end } = await shadow();
    answer = (request) => void request.socket.destroy();
    expect(await event(url, 'cut')).toMatchObject({
      status: 502,
      body: { error: expect.stringContaining('does not answer') },
    });
    answer = (_, response) => json(response, 500, { error: 'who knows' });
    expect((await event(url, 'fault')).status).toBe(500);
    // With its own key the client may retry, and then Laurel gets the event as well.
    answer = (_, response) => json(response, 504, { error: 'who knows' });
    expect((await event(url, 'again', { 'Idempotency-Key': 'k' })).status).toBe(504);
    answer = (request, response) =>
      request.method === 'GET'
        ? json(response, 200, { created: new Date().toISOString() })
        : json(response, 202, { eventId: 'e', total: 2, idempotentReplayed: true });
    expect((await event(url, 'again', { 'Idempotency-Key': 'k' })).status).toBe(202);
    // Only the source knows an event from before the run.
    expect((await event(url, 'older', { 'Idempotency-Key': 'older' })).status).toBe(202);
    await until(({ notCompared }) => notCompared['the source repeats an answer that was lost'] === 1);
    expect([await totalOf('again'), await totalOf('older'), await totalOf('fault')]).toEqual([2, undefined, undefined]);
    const { report, code } = await end();
    expect(report.setAside.examples.map(({ id }) => id)).toEqual(['cut', 'fault']);
    expect(report.notCompared).toMatchObject({ 'it repeats an event from before this run': 1 });
    expect([code, report.compared]).toEqual([1, 0]);
  });

  test('excludes a user whose past only the source knows, and does not create it; creates a new user', async () => {
    const { url, until, end } = await shadow();
    answer = (request, response) =>
      request.method === 'GET'
        ? json(response, 200, {
            created: request.url!.endsWith('/new') ? new Date().toISOString() : '2024-01-01T00:00:00Z',
          })
        : json(response, 201, { eventId: 'e', total: 2 });
    for (const id of ['old', 'new', 'old', 'new']) expect((await event(url, id)).status).toBe(201);
    await until(({ compared }) => compared === 2);
    expect([await totalOf('old'), await totalOf('new')]).toEqual([undefined, 4]);
    const { report } = await end();
    expect(report.setAside).toEqual({ users: 1, examples: [{ id: 'old', why: expect.stringContaining('import') }] });
    // Once for each user, with the client's key.
    expect(asked.filter(({ line }) => line.startsWith('GET')).map(({ line }) => line)).toEqual([
      'GET /v1/users/old',
      'GET /v1/users/new',
    ]);
    expect(report.asked).toBe(2);
    // The second answer says 2 where Laurel has 4.
    const total = report.differences.find(({ path }) => path === 'total');
    expect(total).toMatchObject({ count: 1, ofNewUsers: 1, examples: [{ source: 2, laurel: 4 }] });
  });

  test('clients do not notice that Laurel is away; queued requests arrive later, once, and the report counts the rest', async () => {
    const { url, until, end } = await shadow('--queue', '3');
    answer = newUsers;
    await event(url, 'kept');
    await until(({ compared }) => compared === 1);
    cut();
    for (const id of ['kept', 'kept', 'kept', 'lost', 'lost']) expect((await event(url, id)).status).toBe(201);
    isCut = false;
    await until(
      ({ compared, notCompared }) => compared + (notCompared['Laurel answered only when asked again'] ?? 0) === 4,
    );
    expect([await totalOf('kept'), await totalOf('lost')]).toEqual([8, undefined]);
    const { report, code } = await end();
    expect(report).toMatchObject({ dropped: 2, setAside: { users: 1, examples: [{ id: 'lost' }] } });
    expect(code).toBe(1);
  });

  test('applies concurrent requests of one user without comparing them', async () => {
    const { url, until, end } = await shadow();
    const waiting: (() => void)[] = [];
    answer = (request, response) => {
      if (request.method === 'GET') return newUsers(request, response);
      waiting.push(() => newUsers(request, response));
      if (waiting.length === 2) for (const go of waiting) go();
    };
    await Promise.all([event(url, 'twice'), event(url, 'twice')]);
    await until(({ notCompared }) => notCompared['another request of the same user was in flight'] === 2);
    expect(await totalOf('twice')).toBe(4);
    expect((await end()).report.differences).toEqual([]);
  });

  test('the report contains no key and no personal text, and can leave out a field', async () => {
    const { url, until, end } = await shadow('--ignore', 'tz', 'attributes.plan');
    const user = {
      id: 'ada',
      name: 'Ada Lovelace',
      email: 'ada@example.org',
      tz: 'Asia/Tokyo',
      attributes: { plan: KEY },
    };
    answer = (_, response) =>
      json(response, 201, { ...user, subscribeToEmails: false, control: KEY, created: now, updated: now });
    const now = new Date().toISOString();
    const sent = { ...user, name: 'Ada', email: 'a@example.org', tz: null, attributes: { plan: 'pro' } };
    await ask(url, { key: KEY, method: 'POST', path: `/v1/users?k=${KEY}`, body: sent });
    await until(({ compared }) => compared === 1);
    const { report, err } = await end();
    expect(report.differences.map(({ path }) => path).toSorted()).toEqual([
      'control',
      'email',
      'name',
      'subscribeToEmails',
    ]);
    for (const secret of [KEY, laurel.adminKey, 'Lovelace', 'ada@example.org'])
      expect(JSON.stringify(report) + err).not.toContain(secret);
    expect(report.differences.find(({ path }) => path === 'email')!.examples[0]).toMatchObject({
      source: '(15 characters)',
    });
  });

  test('ends before it serves a client if Laurel refuses the key or cannot be reached', async () => {
    const start = (to: string, key: string) => startShadow({ from: addressOf(source), to, key });
    await expect(start(laurel.appUrl, 'wrong')).rejects.toThrow('Laurel refuses the key (401)');
    await expect(start('http://127.0.0.1:1', laurel.adminKey)).rejects.toThrow('Laurel does not answer at');
  });
});

/** Sends a request as raw bytes; returns the raw answer. */
function raw(
  url: string,
  { method, headers, body }: { method: string; headers: string[]; body: string },
): Promise<{ status: number; headers: string[]; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request(
      {
        hostname,
        port,
        method,
        path: url.slice(new URL(url).origin.length),
        headers: ['Host', 'proxy', ...headers] as never,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.rawHeaders, body: Buffer.concat(chunks) }),
        );
      },
    );
    sent.once('error', reject).end(body);
  });
}
