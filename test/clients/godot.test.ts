import { cp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DEMO } from '../../src/catalog/demo.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel } from '../laurel.ts';
import { makeCertificates } from '../stack/certificates.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { STUDY_APP } from '../study-app.ts';
import { createProject, Game, hasGodot, outputOf, queueFolder } from './godot/game.ts';
import { opened } from '../stack/opened.ts';

// The Godot add-on in the engine, without a display.
const CONFIGURATION = {
  ...STUDY_APP,
  pointsSystems: [{ ...STUDY_APP.pointsSystems![0]!, spendableByUsers: true }],
};

let folder: string;
let game: Game;

/** Starts the game with what earlier ones stored. */
const start = async (): Promise<Game> => (game = await Game.start(folder));

/** Ends the game as a player does. No script has failed, and nothing is left in memory. */
async function quit(): Promise<void> {
  const output = await game.quit();
  expect(output).not.toMatch(/SCRIPT ERROR|leaked|still in use/);
}

afterEach(async () => {
  if (!hasGodot || folder === undefined) return;
  await game?.kill();
  await rm(folder, { recursive: true, force: true });
});

describe('the files', () => {
  const ADDON = join(PACKAGE_ROOT, 'clients/godot/addons/laurel');

  test('that scripts and settings name exist', async () => {
    const names = await readdir(ADDON);
    for (const name of names) {
      const text = await readFile(join(ADDON, name), 'utf8');
      const named = [...text.matchAll(/(?:preload\(|^script=)"([^"]+)"/gm)].map(([, file]) => file!);
      expect(named.filter((file) => !names.includes(file))).toEqual([]);
    }
    expect(names).toContain('plugin.cfg');
  });

  test('have the functions, signals and codes of docs/clients/godot.md, which has all of them', async () => {
    const page = await readFile(join(PACKAGE_ROOT, 'docs/clients/godot.md'), 'utf8');
    const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found]) => found!);
    const read = (name: string): Promise<string> => readFile(join(ADDON, name), 'utf8');
    const declared = [
      ...all(await read('laurel.gd'), /^func ([a-z]\w*)/gm),
      ...all((await read('user.gd')) + (await read('leaderboard.gd')), /^func ([a-z]\w*)/gm),
    ];
    const named = all(page, /(?:Laurel|….?)\.(\w+)\(/g).filter((name) => name !== 'connect');
    expect([...new Set(named)].sort()).toEqual([...new Set(declared)].sort());
    const signals = all(await read('laurel.gd'), /^signal (.*)/gm);
    expect(signals.filter((signal) => !page.includes(`\`${signal}\``))).toEqual([]);
    const codes = all(await read('laurel_error.gd'), /^# ([a-z_]+) {2,}/gm);
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});

describe.skipIf(!hasGodot)('with Laurel', () => {
  let key: string;
  const laurel = opened(() => startLaurel({ configuration: CONFIGURATION, workers: true }));

  let users = 0;
  let user: string;
  beforeEach(async () => {
    user = `ada ${++users}`;
    const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: user }]);
    key = body.created[0].key as string;
    folder = await createProject();
  });
  const total = async (): Promise<number> =>
    (await laurel.app.get(`/v1/users/${encodeURIComponent(user)}/metrics/flips`)).body.current ?? 0;

  test('events have effects, and signals report them', async () => {
    await start();
    const early = await game.laurel('track', 'flips', 1);
    expect(early).toMatchObject({ data: null, error: { code: 'invalid_call' } });
    expect(await game.configure({ url: laurel.appUrl, key, user: { id: user, tz: 'Europe/Oslo' } })).toBeNull();
    const first = await game.tracked('flips', 12, { attributes: { deck: 'verbs "ü"\\\u0001\n' } });
    expect(first).toMatchObject({ error: null, data: { total: 12, idempotencyKey: first.key } });
    expect(first.data.currentStreak.length).toBe(1);
    await expect.poll(() => game.queueSize()).toBe(0);
    expect(game.signals).toEqual([
      { signal: 'queue_changed', size: 0 },
      { signal: 'queue_changed', size: 1 },
      { signal: 'queue_changed', size: 0 },
      { signal: 'event_done', value: '12', total: 12 },
      ...['Ten flips', 'First day', 'Ten and a day'].map((name) => ({ signal: 'achievement_completed', name })),
      { signal: 'points_changed', key: 'xp', total: first.data.points['xp']!.total },
      { signal: 'streak_extended', length: 1 },
    ]);
    expect((await game.user('', 'profile')).data).toMatchObject({ id: user, tz: 'Europe/Oslo' });
    // Fractions, negative values and numbers beyond 32 bits arrive unchanged.
    for (const value of [0.125, -0.125, 5_000_000_000, -5_000_000_000]) await game.tracked('flips', value);
    expect(await total()).toBe(12);
    await quit();
  });

  test('everything about a user can be read, and points spent once', async () => {
    await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'bob' }, value: 30 });
    await start();
    // An admin key may read more in a moment than a user's.
    await game.configure({ url: `${laurel.appUrl}/v1/`, key: laurel.adminKey, user });
    await game.tracked('flips', 12);
    const calls: [Promise<{ data: unknown }>, unknown][] = [
      [game.user('', 'streak', { historyPeriods: 7 }), { length: 1 }],
      [game.user('', 'metrics'), [{ key: 'flips', current: 12 }, { current: 0 }]],
      [game.user('', 'metric', 'flips'), { current: 12 }],
      [game.user('', 'achievements', { includeIncomplete: false }), [{ key: 'ten' }, { key: 'day' }, { key: 'both' }]],
      [game.user('', 'identify', { name: 'Ada' }), { name: 'Ada' }],
      [game.user('', 'preferences'), { notifications: {} }],
      [game.user('', 'leaderboard', 'flips'), { key: 'flips', value: 12 }],
      [game.user('', 'boosts', 'xp'), [{ name: 'Double' }]],
      [game.leaderboard('flips', 'page', { limit: 1 }), { rankings: [{ userId: 'bob', rank: 1 }] }],
      [game.leaderboard('flips', 'around', user, { above: 0, below: 0 }), { rankings: [{ userId: user }] }],
      [game.leaderboard('flips', 'among', [user, 'bob']), { rankings: [{ userId: 'bob' }, { userId: user }] }],
      [game.leaderboard('weekly', 'teams'), { teamAttribute: 'plan', rankings: [] }],
      [game.laurel('leaderboards'), [{}, {}, {}]],
      [game.laurel('levels', 'xp'), [{ key: 'novice' }]],
      [game.laurel('streak_rankings', { limit: 1 }), [{}]],
      [game.laurel('request', 'GET', '/achievements'), [{}, {}, {}, {}]],
    ];
    // All at once: more than there are connections.
    for (const [answer, expected] of calls) {
      const { data, ...rest } = await answer;
      expect({ ...rest, data }).toMatchObject({ error: null, data: expected });
    }
    await game.configure({ url: laurel.appUrl, key, user });
    expect((await game.user('', 'complete', 'tour')).data).toMatchObject({ achievement: { key: 'tour' } });

    const { balance } = (await game.user<{ balance: number }>('', 'points', 'xp')).data;
    const order = { reason: 'A hat', idempotencyKey: 'order-1' };
    const spent = await game.user('', 'spend', 'xp', 10, order);
    expect(spent).toMatchObject({ key: 'order-1', data: { amount: 10, balance: balance - 10 } });
    expect((await game.user('', 'spend', 'xp', 10, order)).data).toEqual(spent.data);
    expect((await game.user('', 'hold', 'xp', 1, 60)).data).toMatchObject({ balance: balance - 11 });
    expect((await game.user('', 'spend', 'xp', 1_000_000)).error).toMatchObject({
      code: 'insufficient_balance',
      status: 409,
      balance: balance - 11,
    });
    expect((await game.user('bob', 'profile')).error).toMatchObject({ status: 403 });
    await quit();
  });

  test('wrong calls and refused events have errors; a wrong key keeps the event', async () => {
    await start();
    expect(await game.configure({ url: 'laurel.example.org', key })).toMatchObject({ code: 'invalid_call' });
    expect((await game.configure({ url: laurel.appUrl, key, users: 1 }))!.message).toContain('users: unknown');
    await game.configure({ url: laurel.appUrl, key });
    expect((await game.user('', 'streak')).error!.message).toContain('user: the ID');
    expect((await game.laurel('track', 'flips')).error!.message).toContain('user: the ID');
    await game.configure({ url: laurel.appUrl, key: 'wrong', user, maxEvents: 3 });
    expect((await game.laurel('track', 'flips', 'many')).error!.message).toContain('value');
    expect((await game.laurel('track', 'flips', 1, { occured_at: 1 })).error!.message).toContain('occured_at');
    for (const value of [1, 2]) await game.track('flips', value);
    await game.track('flop', 3);
    expect((await game.laurel('track', 'flips', 4)).error).toMatchObject({ code: 'queue_full' });
    await expect.poll(() => game.signals).toContainEqual({ signal: 'send_failed', code: 'invalid_key' });
    expect(await game.queueSize()).toBe(3);
    game.signals.length = 0;
    await game.configure({ url: laurel.appUrl, key, user });
    await expect.poll(() => game.queueSize()).toBe(0);
    const reported = game.signals.filter(({ signal }) => signal.startsWith('event_'));
    expect(reported).toEqual([
      { signal: 'event_done', value: '1', total: 1 },
      { signal: 'event_done', value: '2', total: 3 },
      { signal: 'event_refused', value: '3', code: 'unprocessable' },
    ]);
    await quit();
  });

  test('a key comes from a function, which is called again when it is not accepted', async () => {
    await start();
    await game.configure({ url: laurel.appUrl, keys: ['expired', key], user });
    expect(await game.tracked('flips', 3)).toMatchObject({ error: null, data: { total: 3 } });
    await quit();
  });

  test('an idempotency key is not used for another event', async () => {
    await start();
    await game.configure({ url: 'http://127.0.0.1:9', key, user });
    const event = { idempotencyKey: 'lesson-7', attributes: { deck: 'verbs' } };
    expect(await game.track('flips', 1, event)).toMatchObject({ key: 'lesson-7', error: null });
    expect(await game.track('flips', 1, event)).toMatchObject({ key: 'lesson-7', error: null });
    expect(await game.queueSize()).toBe(1);
    expect((await game.tracked('flips', 2, event)).error).toMatchObject({ code: 'idempotency_key_reused' });
    // A key belongs to a user and a metric.
    await game.track('minutes', 2, event);
    await game.track('flips', 2, { ...event, user: 'bob' });
    expect(await game.queueSize()).toBe(3);
    // Another user of the device sends nothing of this one.
    await game.configure({ url: 'http://127.0.0.1:9', key, user: 'bob' });
    expect(await game.queueSize()).toBe(0);
    await quit();
  });

  test('no event is lost or counted twice: connections break, the game is killed, Laurel ends and starts again', async () => {
    const server = await laurel.another();
    const proxy = new CuttingProxy(server.appUrl);
    const url = await proxy.listen();
    const isEvent = (chunk: Buffer): boolean => chunk.includes('POST /v1/metrics');
    const options = { url, key, user, timeoutMs: 5_000 };
    // Each event has its own bit of the total: an event that is lost, or counted twice, is seen.
    let bits = 0;
    const track = async (events: number): Promise<void> => {
      const stored = Array.from({ length: events }, () => game.track('flips', 2 ** bits++));
      for (const { error } of await Promise.all(stored)) expect(error).toBeNull();
    };
    try {
      await start();
      await game.configure(options);
      await track(4);
      await expect.poll(() => game.queueSize()).toBe(0);
      expect(await total()).toBe(2 ** 4 - 1);

      // Connections break: after Laurel has counted the event, and before it has come.
      for (const cut of ['replies', 'requests'] as const) {
        proxy.cutNext(cut, undefined, isEvent);
        await track(3);
        await expect.poll(() => game.queueSize()).toBe(0);
        expect(proxy.disarm()).toBe(false);
      }

      // The game is killed while the answer to the first of these events is under way.
      let stored = Promise.resolve();
      const killed = new Promise<void>((resolve) => {
        const kill = (): Promise<void> => stored.then(() => game.kill()).then(resolve);
        proxy.cutNext('replies', kill, isEvent);
      });
      stored = track(5);
      await killed;

      // Its next start finds no Laurel; more events come, and it is killed again.
      await server.close();
      proxy.cutAll();
      await start();
      await game.configure(options);
      await track(5);
      await expect.poll(() => game.signals).toContainEqual({ signal: 'send_failed', code: 'network' });
      await game.kill();
      await start();
      await game.configure(options);
      await track(5);
      expect(await game.queueSize()).toBeGreaterThanOrEqual(15);

      // Laurel comes back, breaks off while it works, and comes back at another address.
      const second = await laurel.another();
      proxy.retarget(second.appUrl);
      const working = new Promise<void>((resolve) =>
        proxy.cutNext('replies', () => second.close().then(resolve), isEvent),
      );
      await game.flush();
      await working;
      proxy.retarget((await laurel.another()).appUrl);
      await track(3);
      await game.flush();
      await expect.poll(() => game.queueSize()).toBe(0);
      expect(await total()).toBe(2 ** bits - 1);
      expect(await readdir(queueFolder(folder))).toEqual([]);
      await quit();
    } finally {
      proxy.close();
    }
  });

  test('a game that is killed while it stores events keeps those that were stored, in their order', async () => {
    await start();
    const options = { url: 'http://127.0.0.1:9', key, user };
    await game.configure(options);
    const stored: string[] = [];
    let answers = 0;
    const killed = new Promise<void>((resolve) => {
      for (let value = 0; value < 60; value += 1)
        void game.track('flips', 1).then((answer) => {
          stored.push(answer.key);
          if (++answers === 20) void game.kill().then(resolve);
        });
    });
    await killed;
    const keysIn = async (): Promise<string[]> =>
      (await readdir(queueFolder(folder)))
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => name.slice(17, -5));
    const kept = await keysIn();
    expect(kept.slice(0, stored.length)).toEqual(stored);
    expect(new Set(kept).size).toBe(kept.length);

    // As after a crash in the middle of a write, and a power failure.
    await writeFile(join(queueFolder(folder), '0000000000000900-x.json.tmp'), '{"id": "x", "met');
    await writeFile(join(queueFolder(folder), '0000000000000901-y.json'), '');
    await start();
    await game.configure(options);
    expect(await game.queueSize()).toBe(kept.length);
    expect(game.signals).toContainEqual({ signal: 'send_failed', code: 'unreadable_event' });
    await game.track('flips', 1);
    const names = await readdir(queueFolder(folder));
    expect(names.filter((name) => !/^\d{16}-[\da-f-]+\.json$/.test(name))).toEqual(['0000000000000901-y.json.broken']);
    expect((await keysIn()).slice(0, -1)).toEqual(kept);
    await game.configure({ url: laurel.appUrl, key, user });
    await expect.poll(() => game.queueSize()).toBe(0);
    expect(await total()).toBe(kept.length + 1);
    await quit();
  });

  test('the demo and the snippets of docs/clients/godot.md run', async () => {
    await laurel.admin.put('/v1/configuration', DEMO);
    expect((await laurel.admin.get('/v1/configuration')).body.metrics[0].key).toBe('flashcards-flipped');
    const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
    const page = await readFile(join(PACKAGE_ROOT, 'docs/clients/godot.md'), 'utf8');
    const blocks = [...page.matchAll(/^```gdscript\n([^]*?)^```/gm)].map(([, block]) => block!);
    const functions = blocks.filter((block) => block.startsWith('func '));
    const steps = blocks.filter((block) => !block.startsWith('func ')).join('');
    const script = [
      'extends Node',
      'func _ready():',
      ...`${steps}get_tree().quit()`.split('\n').map((line) => `\t${line}`),
      ...functions,
    ].join('\n');
    const scene = (await readFile(join(folder, 'driver.tscn'), 'utf8')).replace('driver.gd', 'page.gd');
    await writeFile(join(folder, 'page.tscn'), `${scene}[node name="Waiting" type="Label" parent="."]\n`);
    await writeFile(
      join(folder, 'page.gd'),
      script.replaceAll('http://localhost:8080', laurel.appUrl).replaceAll('KEY_OF_ADA', body.created[0].key),
    );
    const shown = [...page.matchAll(/^\t*print\(.*\) # (.+)$/gm)].flatMap(([, lines]) => lines!.split(' · '));
    expect(shown.length).toBeGreaterThan(3);
    const output = await outputOf(folder, 'res://page.tscn');
    expect(output.split('\n').slice(-shown.length - 1, -1)).toEqual(shown);

    await cp(join(PACKAGE_ROOT, 'clients/godot/demo'), join(folder, 'demo'), { recursive: true });
    expect(await outputOf(folder, 'res://demo/demo.tscn', '--quit')).not.toContain('ERROR: ');
  });
});

describe.skipIf(!hasGodot)('answers', () => {
  type Answer = (response: ServerResponse, request: IncomingMessage) => void;
  let server: Server;
  let url: string;
  let answers: Answer[];
  let requests: { at: number; key: string | undefined; body: string }[];
  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        requests.push({ at: Date.now(), key: request.headers['idempotency-key'] as string | undefined, body });
        (answers.shift() ?? json(200, {}))(response, request);
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/behind/a/proxy`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(async () => {
    answers = [];
    requests = [];
    folder = await createProject();
    await start();
    await game.configure({ url, key: 'key', user: 'ada' });
  });
  const json =
    (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
    (response) =>
      void response.writeHead(status, headers).end(JSON.stringify(body));
  const refuse = (status: number, code: string, headers = {}): Answer => json(status, { error: code, code }, headers);

  test('of all forms are read, and connections are used again', async () => {
    const sockets = new Set<unknown>();
    server.on('connection', (socket) => sockets.add(socket));
    const big = { text: 'ü'.repeat(300_000) };
    answers = [
      json(200, big),
      (response) => {
        // In chunks.
        response.write('{"a":');
        response.end('1}');
      },
      json(200, { a: 2 }),
      (response) => response.writeHead(200, { 'Content-Length': '0' }).end(),
      (response) => response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>'),
      (response) => response.socket!.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"a":3}'),
      (response) => response.socket!.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a":4}'),
      json(200, { a: 5 }),
    ];
    const read = () => game.laurel('request', 'GET', '/anything');
    expect((await read()).data).toEqual(big);
    expect((await read()).data).toEqual({ a: 1 });
    expect((await read()).data).toEqual({ a: 2 });
    expect((await read()).error).toMatchObject({ code: 'unexpected_answer', status: 200 });
    expect(sockets.size).toBe(1);
    // 502: read again.
    expect((await read()).data).toEqual({ a: 3 });
    // Incomplete: read again.
    expect((await read()).data).toEqual({ a: 5 });
    await quit();
  });

  test('429 and 503 are repeated with the same key, not before Retry-After', async () => {
    const soon = new Date(Date.now() + 3_000);
    answers = [
      refuse(429, 'too_many_requests', { 'Retry-After': '1' }),
      refuse(503, 'unavailable', { 'Retry-After': soon.toUTCString() }),
      json(201, { total: 1 }),
      refuse(429, 'too_many_requests', { 'Retry-After': '61' }),
    ];
    expect((await game.tracked('flips', 1)).data).toEqual({ total: 1 });
    expect(new Set(requests.map(({ key, body }) => `${key} ${body}`)).size).toBe(1);
    expect(requests[0]!.key).toMatch(/^[\da-f]+-[\da-f]{24}$/);
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(1_000);
    // The date has no milliseconds.
    expect(requests[2]!.at).toBeGreaterThanOrEqual(soon.getTime() - 1_000);
    expect((await game.user('', 'streak')).error).toMatchObject({ code: 'too_many_requests', status: 429 });
    await quit();
  });

  test('an event is sent without its time if that is refused, and stays after answers that are not about it', async () => {
    const occurredAt = '2026-11-28T12:00:00Z';
    answers = [
      (response) => response.writeHead(404).end('not Laurel'),
      refuse(403, 'insufficient_scope'),
      refuse(403, 'forbidden'),
      json(201, { total: 1 }),
      json(201, { total: 3 }),
    ];
    await game.track('flips', 1, { occurredAt });
    expect((await game.tracked('flips', 2)).data).toEqual({ total: 3 });
    const times = requests.map(({ body }) => JSON.parse(body).occurredAt);
    expect(times).toEqual([occurredAt, occurredAt, occurredAt, undefined, undefined]);

    await game.configure({ url, key: 'key', user: 'ada', late: 'refuse' });
    answers = [refuse(403, 'forbidden')];
    expect((await game.tracked('flips', 4)).error).toMatchObject({ code: 'forbidden' });
    expect(game.signals).toContainEqual({ signal: 'event_refused', value: '4', code: 'forbidden' });
    await quit();
  });

  test('that do not come end with a timeout; another configuration ends calls that wait', async () => {
    const open: ServerResponse[] = [];
    const never: Answer = (response) => void open.push(response);
    answers = [never, never, json(200, { total: 1 })];
    await game.configure({ url, key: 'key', user: 'ada', timeoutMs: 100, retries: 0 });
    expect((await game.user('', 'streak')).error).toMatchObject({ code: 'timeout' });
    const waiting = game.tracked('flips', 1);
    await expect.poll(() => open.length).toBe(2);
    await game.configure({ url, key: 'key', user: 'bob' });
    expect((await waiting).error).toMatchObject({ code: 'queue_closed' });
    await game.configure({ url, key: 'key', user: 'ada' });
    await expect.poll(() => game.queueSize()).toBe(0);
    const [, first, second] = requests;
    expect(second).toMatchObject({ key: first!.key, body: first!.body });
    // The game ends while a request is under way.
    answers = [never];
    void game.user('', 'streak');
    await expect.poll(() => open.length).toBe(3);
    await quit();
  });

  test('over TLS come only from servers with a certificate of a known authority', async () => {
    const certificates = await makeCertificates();
    const read = (path: string): Promise<string> => readFile(path, 'utf8');
    const identity = { cert: await read(certificates.certificate), key: await read(certificates.key) };
    const tls = createTlsServer(identity, (_, response) => response.end('{"a":1}'));
    await new Promise<void>((resolve) => void tls.listen(0, resolve));
    const options = { url: `https://localhost:${(tls.address() as AddressInfo).port}`, key: 'key', retries: 0 };
    try {
      await game.configure(options);
      expect((await game.laurel('achievements')).error).toMatchObject({ code: 'network' });
      await quit();
      await rm(folder, { recursive: true });
      folder = await createProject({ authority: await read(certificates.authority) });
      await start();
      await game.configure(options);
      expect((await game.laurel('achievements')).data).toEqual({ a: 1 });
      await quit();
    } finally {
      tls.closeAllConnections();
      tls.close();
      await certificates.remove();
    }
  });
});
