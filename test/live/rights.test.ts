import { afterAll, expect, test } from 'vitest';
import { GRANTS_OF_A_KEY, createLiveGrants, type LiveGrant } from '../../src/engine/live/stream-grants.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { LiveClient } from './live-client.ts';
import { opened } from '../stack/opened.ts';

const GRANT: LiveGrant = {
  tenantNo: 0,
  prefix: '',
  rateLimit: null,
  kind: 'application',
  userId: 'greedy',
  boardIds: [],
  types: null,
  metricIds: null,
  leaderboardIds: null,
  pointsSystemIds: null,
};

const clients: LiveClient[] = [];

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, liveLimits: { connections: 100, perUser: 3 } }));
afterAll(async () => {
  for (const client of clients) client.close();
});

async function makeKey(userId: string, more: object = {}, tenantId?: string): Promise<{ key: string; id: string }> {
  const sent = tenantId === undefined ? {} : { tenantId };
  return (await laurel.admin.post('/v1/application-api-keys', [{ userId, ...more }], sent)).body.created[0];
}

async function ticket(key: string, body: object = {}): Promise<string> {
  const made = await laurel.app.post('/v1/live/tickets', body, { key });
  expect(made.status).toBe(201);
  return made.body.ticket as string;
}

async function open(query: Record<string, string>, lastEventId?: string): Promise<LiveClient> {
  const client = await LiveClient.open(laurel.appUrl, query, lastEventId);
  clients.push(client);
  return client;
}

test('a ticket works once, even if two clients use it at once', async () => {
  const { key } = await makeKey('once');
  const one = await ticket(key);
  const both = await Promise.all([open({ ticket: one }), open({ ticket: one })]);
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
  expect((await open({ ticket: one })).status).toBe(401);
  expect((await open({})).status).toBe(401);
});

test('a ticket needs no body, which is the same as an empty one', async () => {
  const { key } = await makeKey('bodiless');
  for (const request of [{}, { rawBody: '' }]) {
    const made = await laurel.app.post('/v1/live/tickets', undefined, { key, ...request });
    expect([made.status, made.body.error]).toEqual([201, undefined]);
    expect((await open({ ticket: made.body.ticket as string })).status).toBe(200);
  }
  const admin = await laurel.admin.post('/v1/live/tickets');
  expect(admin.status).toBe(201);
});

test('a ticket expires, and Redis does not contain its text', async () => {
  const { key } = await makeKey('late');
  const held = (): Promise<string[]> => laurel.redis.keys('{laurel}:live:ticket:*');
  const others = new Set(await held());
  const madeMs = performance.now();
  const one = await ticket(key);
  const [name, ...more] = (await held()).filter((each) => !others.has(each));
  expect([name, more]).toEqual([expect.not.stringContaining(one), []]);
  const leftMs = await laurel.redis.pttl(name!);
  expect(leftMs).toBeLessThanOrEqual(60_000);
  expect(leftMs).toBeGreaterThanOrEqual(59_990 - Math.ceil(performance.now() - madeMs));
  await laurel.redis.pexpire(name!, 1);
  await expect.poll(held).not.toContain(name);
  expect((await open({ ticket: one })).status).toBe(401);
});

test('limits the tickets and sessions of one key in Redis to its newest', async () => {
  const { key } = await makeKey('greedy');
  const held = (): Promise<string[]> => laurel.redis.keys('{laurel}:live:ticket:*');
  // Tickets of earlier tests may expire meanwhile.
  const others = new Set(await held());
  const first = await ticket(key);
  for (let made = 0; made < GRANTS_OF_A_KEY.application; made++) await ticket(key);
  expect((await held()).filter((each) => !others.has(each))).toHaveLength(GRANTS_OF_A_KEY.application);
  expect((await open({ ticket: first })).status).toBe(401);
  const last = await open({ ticket: await ticket(key) });
  expect(last.status).toBe(200);
  last.close();

  const grants = createLiveGrants(laurel.redis);
  const session = { grant: { ...GRANT, prefix: 'greedy' }, keyDigest: '', openedMs: Date.now() };
  const secrets = [];
  for (let opened = 0; opened <= GRANTS_OF_A_KEY.application; opened++) secrets.push(await grants.openSession(session));
  expect(await grants.session(secrets[0]!)).toBeNull();
  expect(await grants.session(secrets[1]!)).toEqual(session);
  expect(await grants.session(secrets.at(-1)!)).toEqual(session);
});

test('HEAD uses no ticket', async () => {
  const { key } = await makeKey('head');
  const one = await ticket(key);
  expect((await fetch(`${laurel.appUrl}/v1/live?ticket=${one}`, { method: 'HEAD' })).status).toBe(200);
  expect((await open({ ticket: one })).status).toBe(200);
});

test('a user sees nobody else', async () => {
  const { key } = await makeKey('self');
  const other = await laurel.app.post('/v1/live/tickets', { userId: 'someone' }, { key });
  expect([other.status, other.body.error]).toEqual([403, 'The API key is for another user']);
  const events = await laurel.app.post('/v1/live/tickets', { types: ['event'] }, { key });
  expect(events.status).toBe(422);
  const board = await laurel.app.post('/v1/live/tickets', { boards: ['nowhere'] }, { key });
  expect([board.status, board.body.error]).toEqual([422, "boards: there is no leaderboard 'nowhere'."]);
  // The stream ignores a filter, which belongs to the ticket.
  for (const path of ['/v1/live?boards=flips', '/v1/live?boards%5B%5D=flips&ticket=x', '/v1/live?userId=ada']) {
    const misplaced = await laurel.app.get(path);
    expect([misplaced.status, misplaced.body.error]).toEqual([422, expect.stringContaining('POST /v1/live/tickets')]);
  }
  expect((await laurel.admin.post('/v1/live/tickets', {}, { key })).status).toBe(403);
  expect(
    (await laurel.app.post('/v1/live/tickets', {}, { key: (await makeKey('self', { scope: 'events' })).key })).status,
  ).toBe(403);
});

test('a stream ends when its key is deleted, and does not come back', async () => {
  const { key, id } = await makeKey('gone');
  const waiting = await ticket(key);
  const client = await open({ ticket: await ticket(key) });
  await client.next('ready');
  await laurel.admin.delete(`/v1/application-api-keys?ids=${id}`);
  expect(await client.next('closing')).toMatchObject({ reason: 'key_revoked', reconnect: false });
  await expect.poll(() => client.ended).toBe(true);
  expect((await open({}, client.lastId!)).status).toBe(401);
  expect((await open({ ticket: waiting })).status).toBe(401);
});

test('a stream that opens while its key is deleted does not stay open', async () => {
  for (let round = 0; round < 10; round += 1) {
    const keys = await Promise.all(Array.from({ length: 10 }, (_, n) => makeKey(`leaves ${n}`)));
    const tickets = await Promise.all(keys.map(({ key }) => ticket(key)));
    const [opening] = await Promise.all([
      Promise.all(tickets.map((one) => open({ ticket: one }))),
      laurel.admin.delete(`/v1/application-api-keys?ids=${keys.map(({ id }) => id).join(',')}`),
    ]);
    for (const client of opening) await expect.poll(() => client.ended || client.status === 401).toBe(true);
  }
});

test('a stream ends when its key expires', async () => {
  // On a busy machine the key may have expired before its stream is open.
  let client: LiveClient | null = null;
  for (let seconds = 2; client === null; seconds *= 2) {
    const { key, id } = await makeKey('brief', { expiresAt: '2999-01-01T00:00:00Z' });
    await laurel.pool.query(
      'UPDATE application_keys SET expires_at = now() + make_interval(secs => $2) WHERE id = $1',
      [id, seconds],
    );
    const made = await laurel.app.post('/v1/live/tickets', {}, { key });
    const opened = made.status === 201 ? await open({ ticket: made.body.ticket as string }) : null;
    if (opened?.status === 200) client = opened;
  }
  expect(await client.next('closing')).toMatchObject({ reason: 'key_expired', reconnect: false });
});

test('refuses more streams than a user may have, over all keys, until one ends', async () => {
  const { key } = await makeKey('many');
  const { key: another } = await makeKey('many');
  const three = [await ticket(key), await ticket(key), await ticket(key)].map((one) => open({ ticket: one }));
  const streams = await Promise.all(three);
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
  const fourth = await open({ ticket: await ticket(another) });
  expect([fourth.status, fourth.response.headers['retry-after']]).toEqual([429, '5']);
  streams[0]!.close();
  await expect.poll(async () => (await open({ ticket: await ticket(key) })).status).toBe(200);
});

test('the head forbids caching and allows pages of other origins', async () => {
  const { key } = await makeKey('page');
  const client = await open({ ticket: await ticket(key) });
  expect(client.response.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'access-control-allow-origin': '*',
  });
  expect(client.response.headers['x-request-id']).toBeDefined();
});

test('keys of a tenant get streams of that tenant, which end with it', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  try {
    const made = await laurel.admin.post('/v1/tenants', [
      { customerId: 'acme', name: 'Acme' },
      { customerId: 'bolt', name: 'Bolt' },
    ]);
    const [acme] = made.body.created as [{ id: string }];
    await laurel.admin.post('/v1/metrics', [{ key: 'flips', name: 'Flips' }], { tenantId: 'bolt' });
    await laurel.admin.post('/v1/metrics', [{ key: 'flips', name: 'Flips' }], { tenantId: 'acme' });
    const asked = await laurel.app.post('/v1/live/tickets', {}, { tenantId: 'acme' });
    const client = await open({ ticket: asked.body.ticket as string });
    await client.next('ready');
    const send = (tenantId: string) =>
      laurel.app.post('/v1/metrics/flips/event', { user: { id: `of-${tenantId}` }, value: 1 }, { tenantId });
    expect((await send('bolt')).status).toBe(201);
    expect((await send('acme')).status).toBe(201);
    expect((await client.next('event')).event.userId).toBe('of-acme');
    expect(JSON.stringify(client.messages)).not.toContain('of-bolt');
    await laurel.admin.delete(`/v1/tenants?ids=${acme.id}`);
    expect(await client.next('closing')).toMatchObject({ reason: 'tenant_gone' });
  } finally {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  }
});
