import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'undici';
import { afterEach, expect, test, vi } from 'vitest';
import { digestOf, MessageIds } from '../../src/engine/live/stream-message-id.ts';
import { KeyedIds } from '../../src/engine/ids.ts';
import { announceLive } from '../../src/redis/live-streams.ts';
import { listenedKey, markKey, outboxKey, recentKey } from '../../src/redis/keys.ts';
import { knownPart } from '../../src/redis/parts.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { RawConnection, rawRequest } from '../http/raw-connection.ts';
import { LiveClient, type SeenMessage } from './live-client.ts';
import { opened } from '../stack/opened.ts';

const clients: LiveClient[] = [];
const sockets: Socket[] = [];

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await vi.waitUntil(() => laurel.services.live.count === 0, { timeout: 120_000 });
});

const event = (id: string, value = 1) => laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });

async function ticket(body: object = {}, key?: string): Promise<string> {
  const made = await laurel.app.post('/v1/live/tickets', body, key === undefined ? {} : { key });
  return made.body.ticket as string;
}

async function open(query: Record<string, string>, url = laurel.appUrl, lastEventId?: string): Promise<LiveClient> {
  const client = await LiveClient.open(url, query, lastEventId);
  clients.push(client);
  return client;
}

async function openSocket(query: Record<string, string>): Promise<{ socket: WebSocket; messages: SeenMessage[] }> {
  const url = `${laurel.appUrl.replace('http', 'ws')}/v1/live/ws?${new URLSearchParams(query).toString()}`;
  const socket = new WebSocket(url);
  const messages: SeenMessage[] = [];
  socket.addEventListener('message', ({ data }) => void messages.push(JSON.parse(String(data)) as SeenMessage));
  await once(socket as never, 'open');
  return { socket, messages };
}

test('a WebSocket carries the same messages, and continues after a last ID', async () => {
  const client = await open({ ticket: await ticket({ types: ['points.changed'] }) });
  const { socket, messages } = await openSocket({ ticket: await ticket({ types: ['points.changed'] }) });
  await client.next('ready');
  await expect.poll(() => messages.length).toBe(1);
  await event('ws', 5);
  const { id: _, ...seen } = await client.next('points.changed');
  await expect.poll(() => messages.at(-1)?.type).toBe('points.changed');
  expect(messages.at(-1)).toMatchObject(seen);
  const lastEventId = messages.at(-1)!.id;
  socket.close();
  await event('ws', 5);
  const back = await openSocket({ lastEventId });
  await expect.poll(() => back.messages.map(({ type }) => type)).toEqual(['ready', 'points.changed']);
  expect(back.messages[0]!.resumed).toBe(true);
  back.socket.close();
});

test('the answer that opens a WebSocket has the ID of the request', async () => {
  const asked = get(`${laurel.appUrl}/v1/live/ws?ticket=${await ticket()}`, {
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Version': '13',
      'X-Request-Id': 'of-a-socket',
    },
  });
  const [response, socket] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket];
  sockets.push(socket);
  expect([response.statusCode, response.headers['x-request-id']]).toEqual([101, 'of-a-socket']);
});

test('metrics count open streams and the messages sent to them', async () => {
  const measured = async (name: string): Promise<number> => {
    const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
    return Number(new RegExp(`^${name}\\{process="frontend"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const sent = await measured('laurel_live_messages_total');
  const client = await open({ ticket: await ticket({ types: ['points.changed'] }) });
  await client.next('ready');
  expect(await measured('laurel_live_connections')).toBe(1);
  await event('measured', 5);
  await client.next('points.changed');
  expect(await measured('laurel_live_messages_total')).toBe(sent + client.messages.length);
});

test('refuses what is no WebSocket, or has no ticket', async () => {
  expect((await laurel.app.get('/v1/live/ws')).status).toBe(400);
  const socket = new WebSocket(`${laurel.appUrl.replace('http', 'ws')}/v1/live/ws?ticket=none`);
  const failed = once(socket as never, 'error');
  await failed;
  expect(socket.readyState).toBe(WebSocket.CLOSED);
});

const OVER_WEB_SOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Version: 13',
];

const LARGE = {
  type: 'points.boost_started',
  tenantNo: 0,
  userId: null,
  atMs: 0,
  source: 'large',
  about: {},
  payload: JSON.stringify({ type: 'points.boost_started', boost: 'x'.repeat(500_000) }),
} as const;

test.each([
  ['server-sent events', '/v1/live', []],
  ['a WebSocket', '/v1/live/ws', OVER_WEB_SOCKET],
])('closes a client of %s that reads nothing, and the others do not notice', async (_, path, headers) => {
  const reader = await open({ ticket: await ticket() });
  await reader.next('ready');
  const { hostname, port } = new URL(laurel.appUrl);
  const deaf = connect({ host: hostname, port: Number(port) });
  sockets.push(deaf);
  deaf.pause();
  deaf.write([`GET ${path}?ticket=${await ticket()} HTTP/1.1`, 'Host: laurel', ...headers, '', ''].join('\r\n'));
  const { live } = laurel.services;
  await expect.poll(() => live.count).toBe(2);
  // More than the connection's buffers and the queue hold.
  let sent = 0;
  while (live.count === 2 && sent < 100) {
    await announceLive(laurel.redis, [LARGE]);
    sent += 1;
    await expect.poll(() => reader.of('points.boost_started').length).toBe(sent);
  }
  // It no longer counts once its connection is closed.
  await expect.poll(() => live.count).toBe(1);
  expect(reader.ended).toBe(false);
  await event('after', 1);
  await reader.next('event');
});

test('a client that reads again in time gets everything that waited, though nothing happens then', async () => {
  const reader = await open({ ticket: await ticket() });
  await reader.next('ready');
  const { port } = new URL(laurel.appUrl);
  const slow = connect({ host: '127.0.0.1', port: Number(port) });
  sockets.push(slow);
  slow.pause();
  const { live } = laurel.services;
  const before = live.sent;
  slow.write(`GET /v1/live?ticket=${await ticket()} HTTP/1.1\r\nHost: laurel\r\n\r\n`);
  // A stream counts before it starts: it gets what happens after its first message, "ready".
  await expect.poll(() => live.sent).toBe(before + 1);
  let sent = 0;
  while (live.waitingBytes === 0) {
    await announceLive(laurel.redis, [{ ...LARGE, payload: LARGE.payload.replace('x', `number ${(sent += 1)} `) }]);
    await expect.poll(() => reader.of('points.boost_started').length).toBe(sent);
  }
  let received = '';
  slow.setEncoding('utf8').on('data', (text: string) => (received += text));
  slow.resume();
  await expect.poll(() => received.includes(`number ${sent} `) && received.endsWith('\n\n')).toBe(true);
  await expect.poll(() => live.waitingBytes).toBe(0);
  expect([...received.matchAll(/number (\d+) /g)].map(([, n]) => Number(n))).toEqual(
    Array.from({ length: sent }, (_, at) => at + 1),
  );
  expect(live.count).toBe(2);
});

test('work of the clock reaches its recipients', async () => {
  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'clocked' }]);
  const client = await open({ ticket: await ticket({ boards: ['flips'] }, made.body.created[0].key as string) });
  await client.next('ready');
  const boards = await laurel.admin.get('/v1/leaderboards');
  const flips = (boards.body as { id: string; key: string }[]).find(({ key }) => key === 'flips')!;
  const weekly = (boards.body as { id: string; key: string }[]).find(({ key }) => key === 'weekly')!;
  const about = (leaderboardId: string, userId: string | null) => ({
    type: 'leaderboard.started' as const,
    tenantNo: 0,
    userId,
    atMs: 0,
    source: leaderboardId,
    about: { leaderboardId },
    payload: JSON.stringify({ type: 'leaderboard.started', of: leaderboardId, userId }),
  });
  await announceLive(laurel.redis, [about(weekly.id, null), about(flips.id, 'someone'), about(flips.id, null)]);
  expect((await client.next('leaderboard.started')).of).toBe(flips.id);
  expect(client.of('leaderboard.started')).toHaveLength(1);
  const { lastId } = client;
  client.close();
  await announceLive(laurel.redis, [about(flips.id, 'clocked')]);
  const back = await open({}, laurel.appUrl, lastId!);
  expect((await back.next('leaderboard.started')).userId).toBe('clocked');
  expect(back.messages.map(({ type }) => type)).toEqual(['ready', 'leaderboard.started']);
});

test('a client that missed removed messages gets a gap and the current state', async () => {
  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'reset' }]);
  const key = made.body.created[0].key as string;
  await event('reset', 10);
  const client = await open({ ticket: await ticket({ boards: ['flips'] }, key) });
  await client.next('ready');
  client.close();
  await expect.poll(() => client.ended).toBe(true);
  await expect.poll(() => laurel.services.live.count).toBe(0);
  const { shard } = knownPart(laurel.redis, 0, 'reset');
  await laurel.redis.del(listenedKey(shard), recentKey(shard));
  await event('reset', 5);
  await expect.poll(() => laurel.redis.xlen(outboxKey(shard))).toBe(0);
  const back = await open({}, laurel.appUrl, client.lastId!);
  const reset = await back.next('reset');
  expect(reset.reason).toMatch('no longer kept');
  expect(reset.state).toMatchObject({ userId: 'reset', streak: { length: 1 } });
  expect(reset.state.points[0]).toMatchObject({ key: 'xp', total: expect.any(Number) });
  expect(reset.state.achievements.map((one: { key?: string }) => one.key)).toContain('ten');
  expect(reset.state.leaderboards).toMatchObject([{ key: 'flips', value: 15 }]);
  await event('reset', 5);
  await back.next('points.changed');
  const foreign = await open({ ticket: await ticket({}, key) }, laurel.appUrl, 'nonsense');
  expect((await foreign.next('reset')).reason).toMatch('not valid');
});

test('a last ID from before a rebuild of Redis is a gap', async () => {
  const client = await open({ ticket: await ticket() });
  const ids = MessageIds.of(await KeyedIds.of(laurel.pool));
  const last = ids.parse((await client.next('ready')).id)!.authentic!;
  client.close();
  const back = await open({}, laurel.appUrl, ids.format({ ...last, digest: digestOf(['of another Redis'], 0) }));
  expect(await back.next('reset')).toMatchObject({ reason: expect.stringContaining('rebuilt') });
});

test('a rebuild of Redis is a gap to its listeners, who get the messages after it', async () => {
  const client = await open({ ticket: await ticket() });
  await client.next('ready');
  const other = `${await laurel.redis.get(markKey(0))}9`;
  await laurel.redis.set(markKey(0), other);
  expect(await client.next('reset')).toMatchObject({ reason: 'Redis was rebuilt', state: null });
  // The guard has seen it as well, and filled Redis from Postgres.
  await expect.poll(async () => [null, other].includes(await laurel.redis.get(markKey(0)))).toBe(false);
  await expect.poll(async () => (await laurel.app.post('/v1/live/tickets', {})).status).toBe(201);
  const next = await open({ ticket: await ticket() });
  await next.next('ready');
});

test('a stream that the server ends is a complete response, whose head announced that the connection ends with it', async () => {
  const another = await laurel.another();
  const { port } = new URL(another.appUrl);
  const connection = await RawConnection.open(Number(port));
  connection.send(rawRequest('GET', `/v1/live?ticket=${await ticket()}`));
  await connection.until(({ received }) => received.includes('event: ready'));
  const closed = another.close();
  await connection.until((one) => one.closed);
  await closed;
  const [head] = connection.received.split('\r\n\r\n', 1);
  expect(head).toMatch(/^Connection: close\r?$/m);
  expect(connection.chunks).toMatch(/^retry: 2000\n\n.*event: closing\ndata: .*"shutting_down".*\n\n$/s);
});

test('a stopping frontend says so, and its clients continue elsewhere', async () => {
  const another = await laurel.another();
  const client = await open({ ticket: await ticket({ types: ['points.changed'] }) }, another.appUrl);
  await client.next('ready');
  await event('moving', 5);
  await client.next('points.changed');
  const closed = another.close();
  expect(await client.next('closing')).toMatchObject({ reason: 'shutting_down', reconnect: true });
  await closed;
  await expect.poll(() => client.ended).toBe(true);
  await event('moving', 5);
  const back = await open({}, laurel.appUrl, client.lastId!);
  await back.next('points.changed');
  expect(back.messages.map(({ type }) => type)).toEqual(['ready', 'points.changed']);
});
