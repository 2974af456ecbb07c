import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { KeyedIds } from '../../src/engine/ids.ts';
import { CATCH_UP_BYTES } from '../../src/engine/live/shard-catch-up.ts';
import { MessageIds, type PartPosition } from '../../src/engine/live/stream-message-id.ts';
import { movedIn, readPlaces, seatOf } from '../../src/engine/live/stream-listener.ts';
import { connectionOf } from '../../src/redis/endpoints.ts';
import { outboxKey, recentKey } from '../../src/redis/keys.ts';
import { knownPart } from '../../src/redis/parts.ts';
import { OUTBOX } from '../../src/packed/call-fields.ts';
import { startLaurel } from '../laurel.ts';
import { LiveClient } from '../live/live-client.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

let ids: MessageIds;
const clients: LiveClient[] = [];
const sockets: Socket[] = [];

/** How the holder of one user's key may try to disturb other users' live streams. */

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  ids = MessageIds.of(await KeyedIds.of(laurel.pool));
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await vi.waitUntil(() => laurel.services.live.count === 0, { timeout: 120_000 });
});

const event = (id: string, value = 1) => laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });

async function keyOf(userId: string): Promise<string> {
  return (await laurel.admin.post('/v1/application-api-keys', [{ userId }])).body.created[0].key as string;
}

async function ticket(body: object = {}, key?: string): Promise<string> {
  const made = await laurel.app.post('/v1/live/tickets', body, key === undefined ? {} : { key });
  expect(made.status).toBe(201);
  return made.body.ticket as string;
}

async function open(query: Record<string, string>, lastEventId?: string): Promise<LiveClient> {
  const client = await LiveClient.open(laurel.appUrl, query, lastEventId);
  clients.push(client);
  return client;
}

/** The last ID of a closed stream of mallory, and an open stream. */
async function lastIdOf(userId: string): Promise<string> {
  const client = await open({ ticket: await ticket({}, await keyOf(userId)) });
  const { id } = await client.next('ready');
  client.close();
  await expect.poll(() => laurel.services.live.count).toBe(0);
  return id;
}

/** Opens the only stream of the shard with an ID, then another one. Both must receive events. */
async function expectNobodySilenced(lastEventId: string, userId: string): Promise<void> {
  const forger = await open({}, lastEventId);
  expect(forger.status).toBe(200);
  await forger.next('reset');
  const admin = await open({ ticket: await ticket() });
  await admin.next('ready');
  await event(userId, 5);
  await admin.next('points.changed');
  await forger.next('points.changed');
  const { lastId } = admin;
  admin.close();
  await event(userId, 5);
  const back = await open({}, lastId!);
  await back.next('points.changed');
}

const FUTURE = `${Date.now() + 86_400_000}-0`;

test.each<[string, (id: string) => string]>([
  ['of a later time', (id) => id.replace(/~[\da-z]+-(\d+)(?=[~;])/, `~${(Date.now() + 86_400_000).toString(36)}-$1`)],
  ['with an impossible sequence number', (id) => id.replace(/-\d+~/, '-99999999999999999999~')],
  ['with another signature', (id) => id.slice(0, -1) + (id.endsWith('A') ? 'B' : 'A')],
  ['without a signature', (id) => id.slice(0, id.lastIndexOf('~'))],
])('a forged last ID (%s) is answered with a reset and silences nobody', async (name, forge) => {
  const userId = `mallory-${name.length}`;
  const id = await lastIdOf(userId);
  expect(forge(id)).not.toBe(id);
  await expectNobodySilenced(forge(id), userId);
});

test.each<[string, Partial<PartPosition>]>([
  ['of the outbox', { outbox: FUTURE, boards: FUTURE }],
  ['of announced notifications', { announced: FUTURE }],
])(
  'an authentic ID with a position %s ahead of everything is answered with a reset and silences nobody',
  async (name, ahead) => {
    const userId = `ahead-${name.length}`;
    const { authentic } = ids.parse(await lastIdOf(userId))!;
    expect(authentic).not.toBeNull();
    const position = { ...movedIn(authentic!.position, 0, ahead), asOfMs: Date.now(), places: new Map() };
    await expectNobodySilenced(ids.format({ ...authentic!, position }), userId);
  },
);

/** Opens a stream whose client the test controls. */
async function openRaw(path: string, headers: readonly string[] = [], url = laurel.appUrl): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write([`GET ${path}`, 'Host: laurel', ...headers, '', ''].join('\r\n').replace('\r\n', ' HTTP/1.1\r\n'));
  return socket;
}

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Version: 13',
];
const PING = 0x89;
const PONG = 0x8a;
const TEXT = 0x81;

/**
 * Opens a WebSocket whose client the test controls, and returns it with a function for what it received. uWS closes about one in 1,000
 * that is opened alone (see `upgraded`); its client connects again.
 */
async function openReadySocket(): Promise<[Socket, () => string]> {
  for (;;) {
    const socket = await openRaw(`/v1/live/ws?ticket=${await ticket()}`, UPGRADE);
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    const isReady = (): boolean => received.includes('"type":"ready"');
    await expect.poll(() => isReady() || socket.closed).toBe(true);
    if (isReady()) return [socket, () => received];
  }
}

/** A masked client frame with the maximum size of a control frame. */
const frame = (kind: number): Buffer =>
  Buffer.concat([Buffer.from([kind, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, 'a')]);

test.each([
  ['pings', PING],
  ['pongs', PONG],
  ['messages', TEXT],
])('closes a WebSocket client that sends more %s than any client needs, with a reason', async (_, kind) => {
  const [socket, received] = await openReadySocket();
  for (let sent = 0; sent < 40; sent += 1) socket.write(frame(kind));
  await event('heard', 5);
  await expect.poll(received).toContain('"type":"points.changed"');
  expect(received()).not.toContain('"closing"');
  // A new period may begin meanwhile.
  while (!received().includes('too_many_frames')) {
    for (let sent = 0; sent < 20; sent += 1) socket.write(frame(kind));
    await sleep(10);
  }
  // The close frame: 1008, policy violation.
  expect(received()).toContain('\u0003\u00f0too_many_frames');
  await expect.poll(() => laurel.services.live.count).toBe(0);
});

test('pongs to a WebSocket client that reads nothing do not fill the memory', async () => {
  const [socket] = await openReadySocket();
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 500 }, () => frame(PING)));
  // Not by `once`, which an error of the broken connection would reject.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const drained = (): Promise<unknown> => new Promise((resolve) => socket.once('drain', resolve));
  let sent = 0;
  while (!socket.closed && sent < 100_000_000) {
    sent += pings.length;
    if (!socket.write(pings)) await Promise.race([drained(), closed]);
    expect(laurel.services.live.waitingBytes).toBeLessThan(1_048_576);
  }
  await expect.poll(() => laurel.services.live.count).toBe(0);
});

/** Outbox entries before a user's next event: entries of another tenant, each of the given size in bytes. */
async function keepEntries(userId: string, count: number, bytes: number): Promise<void> {
  const { shard } = knownPart(laurel.redis, 0, userId);
  await expect.poll(() => laurel.redis.xlen(outboxKey(shard))).toBe(0);
  const afterMs = Date.now();
  const pipeline = laurel.redis.pipeline();
  for (let n = 0; n < count; n += 1)
    pipeline.xadd(recentKey(shard), `${afterMs}-${n}`, OUTBOX.tenant, '999', OUTBOX.records, 'x'.repeat(bytes));
  for (const [error] of (await pipeline.exec())!) expect(error).toBeNull();
  // Later events have later positions.
  await expect.poll(() => Date.now()).toBeGreaterThan(afterMs + 1);
}

test('a stream that would have to read too much gets the current state instead, as do several streams of one user', async () => {
  const key = await keyOf('away');
  const client = await open({ ticket: await ticket({}, key) });
  const { id } = await client.next('ready');
  client.close();
  await keepEntries('away', 110, Math.ceil(CATCH_UP_BYTES / 100));
  await event('away', 5);
  const back = await Promise.all([1, 2, 3].map(() => open({}, id)));
  for (const one of back) expect((await one.next('reset')).reason).toBe('too much happened since the last ID');
  const before = back.map((one) => one.of('points.changed').length);
  await event('away', 5);
  for (const [at, one] of back.entries()) await one.next('points.changed', before[at]);
});

test('several streams of a user that reconnect at once all get the messages they missed', async () => {
  const key = await keyOf('tabs');
  const client = await open({ ticket: await ticket({}, key) });
  const { id } = await client.next('ready');
  client.close();
  await keepEntries('tabs', 110, 10);
  for (let n = 0; n < 3; n += 1) await event('tabs', 5);
  const back = await Promise.all(Array.from({ length: 8 }, () => open({}, id)));
  for (const one of back) {
    await one.next('points.changed', 2);
    expect((await one.next('ready')).resumed).toBe(true);
    expect(one.of('points.changed')).toHaveLength(3);
  }
});

test('a reconnecting stream joins the others though they never saw the newest entry of another tenant', async () => {
  const id = await lastIdOf('joining');
  const admin = await open({ ticket: await ticket() });
  await admin.next('ready');
  // Stored at once, and released before the others read it: nobody listens to that tenant.
  const [added] = (await laurel.redis
    .multi()
    .xadd('{s0}:outbox', '*', OUTBOX.tenant, '999', OUTBOX.records, 'x')
    .xtrim('{s0}:outbox', 'MAXLEN', 0)
    .exec())!;
  expect(added![0]).toBeNull();
  const reads = async (): Promise<number> =>
    Number(/cmdstat_xrange:calls=(\d+)/.exec(await laurel.redis.info('commandstats'))?.[1] ?? 0);
  const back = await open({}, id);
  expect((await back.next('ready')).resumed).toBe(true);
  const before = await reads();
  const beganMs = performance.now();
  await sleep(500);
  // The shard's only reader reads every 40 ms.
  const after = await reads();
  expect(after - before).toBeLessThan((5 * (performance.now() - beganMs)) / 40 + 40);
});

test('opening a stream counts against the limit of its key, also with a last ID', async () => {
  const limited = await startLaurel({
    configuration: STUDY_APP,
    rateLimits: { applicationPerSecond: 1 },
  });
  try {
    const made = await limited.admin.post('/v1/application-api-keys', [{ userId: 'eager' }]);
    const asked = await limited.app.post('/v1/live/tickets', {}, { key: made.body.created[0].key as string });
    const first = await LiveClient.open(limited.appUrl, { ticket: asked.body.ticket as string });
    clients.push(first);
    expect(first.response.headers['x-ratelimit-limit']).toBeDefined();
    const { id } = await first.next('ready');
    first.close();
    const statuses: number[] = [];
    while (statuses.length < 1_000 && statuses.at(-1) !== 429) {
      const back = await LiveClient.open(limited.appUrl, {}, id);
      clients.push(back);
      statuses.push(back.status);
      if (back.status === 429) expect(Number(back.response.headers['retry-after'])).toBeGreaterThan(0);
      back.close();
    }
    expect(statuses.at(-1)).toBe(429);
    // The limit allows another one each second.
    const answers: string[] = [];
    while (answers.length < 1_000 && answers.at(-1)?.startsWith('HTTP/1.1 429 ') !== true) {
      const overSocket = await openRaw(`/v1/live/ws?lastEventId=${encodeURIComponent(id)}`, UPGRADE, limited.appUrl);
      const [answer] = (await once(overSocket.setEncoding('latin1'), 'data')) as [string];
      answers.push(answer);
      overSocket.destroy();
    }
    expect(answers.at(-1)).toMatch(/^HTTP\/1\.1 429 /);
  } finally {
    await limited.close();
  }
});

test("reads a user's rank once for all streams that follow it", async () => {
  await event('followed', 7);
  const compiled = await laurel.services.catalogs.of(0);
  const board = compiled.catalog.leaderboards.find(({ key }) => key === 'flips')!;
  const seat = seatOf(board, null, Date.now())!;
  const ask = (userId: string) => ({ tenantNo: 0, board, seat, userId });
  const redis = connectionOf(laurel.redis, 0);
  const calls = async (): Promise<number> =>
    Number(/cmdstat_zscore:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const before = await calls();
  const asked = Array.from({ length: 100 }, (_, n) => ask(n === 50 ? 'nobody' : 'followed'));
  const places = await readPlaces(redis, asked);
  // Two users, and again the one with a score, which may have changed meanwhile.
  expect((await calls()) - before).toBe(3);
  expect(places[0]).toMatchObject({ rank: expect.any(Number), value: 7 });
  expect(places).toEqual(places.map((_, n) => (n === 50 ? null : places[0])));
});
