import { afterAll, beforeAll, expect, test } from 'vitest';
import { announceLive } from '../../src/redis/live-streams.ts';
import { knownPart, knownParts } from '../../src/redis/parts.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { LiveClient, type SeenMessage } from './live-client.ts';
import { opened } from '../stack/opened.ts';

const clients: LiveClient[] = [];
/** One user of each part. */
let users: string[];

const laurel = opened(() => startLaurel({ cluster: true, configuration: STUDY_APP, workers: true, spread: 4 }));
beforeAll(async () => {
  users = knownParts(laurel.redis, 0).map((part) => userOf(({ shard }) => shard === part.shard));
});
afterAll(async () => {
  for (const client of clients) client.close();
});

/** Each user is given once. */
const given = new Set<string>();
function userOf(isRight: (part: { shard: number }) => boolean): string {
  for (let n = 0; ; n += 1) {
    const id = `user-${n}`;
    if (given.has(id) || !isRight(knownPart(laurel.redis, 0, id))) continue;
    given.add(id);
    return id;
  }
}

async function event(id: string, value: number): Promise<void> {
  expect((await laurel.app.post('/v1/metrics/flips/event', { user: { id }, value })).status).toBe(201);
}

async function listen(body: object, url = laurel.appUrl, key?: string): Promise<LiveClient> {
  const { status, body: made } = await laurel.app.post('/v1/live/tickets', body, key === undefined ? {} : { key });
  expect(status).toBe(201);
  const client = await LiveClient.open(url, { ticket: made.ticket as string });
  clients.push(client);
  await client.next('ready');
  return client;
}

async function userStream(userId: string, body: object): Promise<LiveClient> {
  const { created } = (await laurel.admin.post('/v1/application-api-keys', [{ userId }])).body;
  return listen(body, laurel.appUrl, created[0].key as string);
}

const ofUser = (client: LiveClient, type: string, id: string): SeenMessage[] =>
  client.of(type).filter(({ user }) => user?.id === id);

test('a stream of all users has the users of all parts, with their ranks among all', async () => {
  const admin = await listen({}, laurel.adminUrl);
  for (const [n, id] of users.entries()) {
    await event(id, 100 + n);
    // The later ones pass the earlier ones.
    const rank = (): unknown =>
      ofUser(admin, 'leaderboard.rank_changed', id).find(({ leaderboard }) => leaderboard.key === 'flips')?.leaderboard;
    await expect.poll(rank).toMatchObject({ rank: 1, value: 100 + n, previousRank: null, previousValue: null });
    expect(ofUser(admin, 'achievement.completed', id).length).toBeGreaterThan(0);
    expect(admin.of('event').filter((message) => message.event.userId === id)).toHaveLength(1);
  }
  await event(users[0]!, 1.5);
  const moved = (): unknown => ofUser(admin, 'leaderboard.rank_changed', users[0]!).at(-1)?.leaderboard;
  await expect.poll(moved).toMatchObject({ key: 'flips', previousRank: 4, previousValue: 100, rank: 3, value: 101.5 });
});

test('after any last message, a client gets the following ones of all parts exactly once', async () => {
  const admin = await listen({ types: ['points.changed', 'achievement.completed'] }, laurel.adminUrl);
  const known = users.map((id) => userOf(({ shard }) => shard === knownPart(laurel.redis, 0, id).shard));
  // Each gets points and three achievements.
  for (const id of known) await event(id, 15);
  await admin.next('points.changed', users.length - 1);
  await admin.next('achievement.completed', users.length * 3 - 1);
  const { messages } = admin;
  const bodiesOf = (some: readonly SeenMessage[]): string[] =>
    some.filter(({ type }) => type !== 'ready').map((message) => JSON.stringify({ ...message, id: null }));
  admin.close();
  await expect.poll(() => admin.ended).toBe(true);
  for (let at = 0; at < messages.length; at += 1) {
    const back = await LiveClient.open(laurel.adminUrl, {}, messages[at]!.id);
    clients.push(back);
    expect((await back.next('ready')).resumed).toBe(true);
    const rest = bodiesOf(messages.slice(at + 1));
    await expect.poll(() => back.messages.length).toBeGreaterThan(rest.length);
    // What follows shows that nothing else was sent.
    const next = userOf(() => true);
    await event(next, 1);
    await expect.poll(() => ofUser(back, 'points.changed', next).length).toBeGreaterThan(0);
    const missed = back.messages.filter(({ user }) => known.includes(user?.id as string));
    // Of different parts, the order may be another.
    expect(bodiesOf(missed).toSorted()).toEqual(rest.toSorted());
    back.close();
  }
});

test("a user's stream hears when users of other parts change its leaderboards, and what concerns everybody", async () => {
  const [ada, bob] = [users[1]!, users[2]!];
  const stream = await userStream(ada, { boards: ['flips'] });
  await event(ada, 10_000);
  const rank = (): unknown => stream.of('leaderboard.rank_changed').at(-1)?.leaderboard.rank;
  await expect.poll(rank).toBe(1);
  const before = stream.of('leaderboard.changed').length;
  await event(bob, 20_000);
  await expect.poll(() => stream.of('leaderboard.changed').length).toBeGreaterThan(before);
  const first = (): unknown => stream.of('leaderboard.changed').at(-1)?.leaderboard.rankings[0];
  await expect.poll(first).toMatchObject({ userId: bob, rank: 1 });
  await expect.poll(rank).toBe(2);
  expect(stream.messages.filter(({ user }) => user !== undefined && user.id !== ada)).toEqual([]);
  const boost = { type: 'points.boost_started', boost: 'of everybody' };
  await announceLive(laurel.redis, [
    {
      type: 'points.boost_started',
      tenantNo: 0,
      userId: null,
      atMs: 0,
      source: 'test',
      about: {},
      payload: JSON.stringify(boost),
    },
  ]);
  expect(await stream.next('points.boost_started')).toMatchObject(boost);
});

test('a stream continues when its tenant is spread over other shards, after a reset or on reconnecting', async () => {
  const admin = await listen({ types: ['points.changed'] }, laurel.adminUrl);
  const { body: job } = await laurel.admin.put('/v1/spread', { shards: 2 });
  await expect.poll(async () => (await laurel.admin.get(`/v1/jobs/${job.id}`)).body.status).toBe('done');
  // While the tenant is converted, a stream may be closed with the request to come back.
  await expect.poll(() => admin.ended || admin.of('reset').length > 0).toBe(true);
  const follow = async (): Promise<LiveClient | null> => {
    if (!admin.ended) return admin;
    const back = await LiveClient.open(laurel.adminUrl, {}, admin.lastId!);
    clients.push(back);
    await expect.poll(() => back.ended || back.messages.length > 0).toBe(true);
    return back.ended ? null : back;
  };
  let client: LiveClient | null = null;
  await expect.poll(async () => (client ??= await follow()) !== null).toBe(true);
  expect(client!.of('reset')[0]).toMatchObject({ type: 'reset', state: null });
  await expect.poll(async () => (await laurel.app.get('/v1/points/xp/summary')).status).toBe(200);
  for (let n = 0; n < 4; n += 1) {
    const id = userOf(() => true);
    await event(id, 5);
    await expect.poll(() => ofUser(client!, 'points.changed', id).length).toBeGreaterThan(0);
  }
});
