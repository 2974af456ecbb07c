import { afterAll, beforeAll, expect, test } from 'vitest';
import { outboxKey } from '../../src/redis/keys.ts';
import { knownPart } from '../../src/redis/parts.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { LiveClient, type SeenMessage } from './live-client.ts';
import { opened } from '../stack/opened.ts';

const clients: LiveClient[] = [];
/** Receives nothing from the beginning. */
let quiet: LiveClient;

const laurel = opened(() => startLaurel({ cluster: true, configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  quiet = await listen({ types: ['streak.lost'] });
});
afterAll(async () => {
  for (const client of clients) client.close();
});

const event = (id: string, value: number, metric = 'flips') =>
  laurel.app.post(`/v1/metrics/${metric}/event`, { user: { id }, value });

async function keyOf(userId: string): Promise<string> {
  return (await laurel.admin.post('/v1/application-api-keys', [{ userId }])).body.created[0].key as string;
}

async function listen(body: object, { key, url }: { key?: string; url?: string } = {}): Promise<LiveClient> {
  const made = await laurel.app.post('/v1/live/tickets', body, key === undefined ? {} : { key });
  expect(made.status).toBe(201);
  const client = await LiveClient.open(url ?? laurel.appUrl, { ticket: made.body.ticket as string });
  clients.push(client);
  expect(client.status).toBe(200);
  await client.next('ready');
  return client;
}

test('a user sees what happens to them, and nothing of others', async () => {
  const ada = await listen({ boards: ['flips'] }, { key: await keyOf('ada') });
  await event('bob', 30);
  await event('ada', 12);
  const completed = await ada.next('achievement.completed');
  expect(completed.user.id).toBe('ada');
  await ada.next('streak.started');
  expect((await ada.next('points.changed')).points.total).toBeGreaterThan(0);
  const rank = await ada.next('leaderboard.rank_changed');
  expect(rank.leaderboard).toMatchObject({ key: 'flips', rank: 2, value: 12, previousRank: null, previousValue: null });
  await event('ada', 20);
  const risen = await ada.next('leaderboard.rank_changed', 1);
  expect(risen.leaderboard).toMatchObject({ rank: 1, value: 32, previousRank: 2, previousValue: 12 });
  await event('bob', 10);
  const passed = await ada.next('leaderboard.rank_changed', 2);
  expect(passed.user.id).toBe('ada');
  expect(passed.leaderboard).toMatchObject({ rank: 2, value: 32, previousRank: 1, previousValue: 32 });
  const board = (): unknown => ada.of('leaderboard.changed').at(-1)?.leaderboard.rankings;
  await expect.poll(board).toEqual([
    { userId: 'bob', userName: null, rank: 1, value: 40 },
    { userId: 'ada', userName: null, rank: 2, value: 32 },
  ]);
  expect(ada.messages.filter(({ user }) => user !== undefined && user.id !== 'ada')).toEqual([]);
  expect(new Set(ada.messages.map(({ id }) => id)).size).toBe(ada.messages.length);
});

test('an admin key sees everything, and a sample of the events', async () => {
  const admin = await listen({}, { url: laurel.adminUrl });
  await event('cleo', 12);
  expect((await admin.next('event')).event).toMatchObject({ userId: 'cleo', metricKey: 'flips', value: 12, total: 12 });
  expect((await admin.next('achievement.completed')).user.id).toBe('cleo');
  expect((await admin.next('leaderboard.rank_changed')).user.id).toBe('cleo');
  const types = new Set(admin.messages.map(({ type }) => type));
  expect([...types]).toEqual(expect.arrayContaining(['points.changed', 'streak.started', 'points.level_changed']));
  await admin.next('leaderboard.changed');
});

test('a user sees spendings and refunds', async () => {
  const spender = await listen({}, { key: await keyOf('spender') });
  await event('spender', 12);
  const path = '/v1/users/spender/points/xp';
  const spent = await laurel.app.post(`${path}/spend`, { amount: 2 }, { headers: { 'Idempotency-Key': 'a hat' } });
  expect(await spender.next('points.spent')).toMatchObject({ points: { key: 'xp' }, spending: spent.body });
  const refunded = await laurel.app.post(`${path}/spendings/${spent.body.id}/refund`, {});
  expect(await spender.next('points.refunded')).toMatchObject({ user: { id: 'spender' }, spending: refunded.body });
});

test('filters hold back what is about others of a kind, in any spelling of their IDs', async () => {
  const idsOf = async (path: string): Promise<Record<string, string>> => {
    const found = (await laurel.admin.get(path)).body as { id: string; key: string }[];
    return Object.fromEntries(found.map(({ id, key }) => [key, id.toUpperCase()]));
  };
  const boards = await idsOf('/v1/leaderboards');
  const metrics = await idsOf('/v1/metrics');
  const ofBoards = await listen({ leaderboardIds: [boards['weekly']] }, { url: laurel.adminUrl });
  const ofMetrics = await listen({ types: ['event'], metricIds: [metrics['minutes']] }, { url: laurel.adminUrl });
  const named = await listen({ boards: [boards['flips']] }, { key: await keyOf('gil') });
  for (const metric of ['flips', 'minutes']) await event('gil', 7, metric);
  expect((await named.next('leaderboard.rank_changed')).leaderboard.key).toBe('flips');
  expect((await ofMetrics.next('event')).event.metricKey).toBe('minutes');
  await ofBoards.next('leaderboard.rank_changed');
  const seen = ofBoards.messages.flatMap(({ leaderboard }) => (leaderboard === undefined ? [] : [leaderboard.key]));
  expect([...new Set(seen)]).toEqual(['weekly']);
  expect(ofMetrics.of('event').length).toBe(1);
});

test('an admin key gets the previous score too, even if no webhook wants it, also for several moves as one', async () => {
  const admin = await listen({ types: ['leaderboard.rank_changed'], userId: 'fay' }, { url: laurel.adminUrl });
  const next = async (count: number): Promise<unknown[]> => {
    const ofBoard = (): SeenMessage[] => admin.messages.filter(({ leaderboard }) => leaderboard?.key === 'flips');
    await expect.poll(() => ofBoard().length).toBe(count);
    const { previousRank, previousValue, rank, value } = ofBoard().at(-1)!.leaderboard;
    return [previousRank, previousValue, rank, value];
  };
  await event('fay', 200.1);
  expect(await next(1)).toEqual([null, null, 1, 200.1]);
  await event('rival', 300);
  const { body } = await event('fay', 150.25);
  expect(await next(2)).toEqual([2, 200.1, 1, 350.35]);
  await laurel.admin.post(`/v1/events/${body.eventId}/reverse`, {});
  expect(await next(3)).toEqual([1, 350.35, 2, 200.1]);
  const batch = [0.2, 199.7].map((value) => ({ key: 'flips', user: { id: 'fay' }, value }));
  await laurel.admin.post('/v1/metrics/events', batch);
  expect(await next(4)).toEqual([2, 200.1, 1, 400]);
  await laurel.admin.patch('/v1/users/fay', { hidden: true });
  expect(await next(5)).toEqual([1, 400, null, null]);
});

test('a client that comes back with the last ID gets what it missed, once, also from another frontend', async () => {
  const another = await laurel.another();
  const key = await keyOf('dora');
  const dora = await listen({ boards: ['flips'] }, { key });
  await event('dora', 1);
  await dora.next('leaderboard.rank_changed');
  dora.close();
  await expect.poll(() => dora.ended).toBe(true);
  for (let n = 0; n < 5; n += 1) await event('dora', 5);
  await expect.poll(() => laurel.redis.xlen(outboxKey(knownPart(laurel.redis, 0, 'dora').shard))).toBe(0);
  const back = await LiveClient.open(another.appUrl, { ticket: 'used' }, dora.lastId!);
  clients.push(back);
  expect((await back.next('ready')).resumed).toBe(true);
  await event('dora', 5);
  await back.next('points.changed', 5);
  const all = [...dora.messages, ...back.messages].filter(({ type }) => type !== 'ready');
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const totals = all.filter(({ type }) => type === 'points.changed').map(({ points }) => points.total as number);
  expect(totals).toEqual([...totals].sort((a, b) => a - b));
  expect(new Set(totals).size).toBe(totals.length);
  expect(all.filter(({ type }) => type === 'achievement.completed').map(({ achievement }) => achievement.key)).toEqual(
    expect.arrayContaining(['ten', 'both']),
  );
  back.close();
});

test('after any last message, a client gets the following ones exactly once', async () => {
  const key = await keyOf('eve');
  const eve = await listen({}, { key });
  await event('eve', 12);
  await eve.next('points.level_changed');
  await event('eve', 5);
  await eve.next('points.changed', 1);
  const all = eve.messages.filter(({ type }) => type !== 'ready');
  expect(all.length).toBeGreaterThan(5);
  const contentOf = (message: SeenMessage): object => ({ ...message, id: null });
  for (const [at, { id }] of all.entries()) {
    const back = await LiveClient.open(laurel.appUrl, {}, id);
    clients.push(back);
    await back.next('ready');
    const rest = all.slice(at + 1);
    // Later messages follow the missed ones.
    await event('eve', 5);
    await back.next('points.changed', rest.filter(({ type }) => type === 'points.changed').length);
    const came = back.messages.filter(({ type }) => type !== 'ready');
    expect(came.slice(0, rest.length).map(contentOf)).toEqual(rest.map(contentOf));
    all.push(came.at(-1)!);
    back.close();
    if (at >= 7) break;
  }
});

test('after any last leaderboard message, a client gets the ranks behind it again', async () => {
  const hal = await listen({ boards: ['flips', 'weekly'] }, { key: await keyOf('hal') });
  await event('hal', 50);
  // A comparison of places that is in progress may report the ranks before the change of their boards.
  const isOfHal = ({ leaderboard }: SeenMessage): boolean =>
    leaderboard?.rankings === undefined || leaderboard.rankings.some(({ userId }: SeenMessage) => userId === 'hal');
  await hal.next('leaderboard.rank_changed', 1);
  const changed = (): SeenMessage[] => hal.of('leaderboard.changed').filter(isOfHal);
  await expect.poll(() => new Set(changed().map(({ leaderboard }) => leaderboard.key)).size).toBe(2);
  // Reports of the test before may come first, and a leaderboard that changed meanwhile may be reported twice.
  const ofBoards = hal.messages.filter((message) => message.leaderboard !== undefined && isOfHal(message));
  expect(ofBoards.length).toBeGreaterThanOrEqual(4);
  expect(new Set(hal.messages.map(({ id }) => id)).size).toBe(hal.messages.length);
  hal.close();
  await expect.poll(() => hal.ended).toBe(true);
  const ranksAfter = async (id: string): Promise<string[]> => {
    const back = await LiveClient.open(laurel.appUrl, {}, id);
    clients.push(back);
    expect((await back.next('ready')).resumed).toBe(true);
    // Too little to move a rank; its report follows what was missed.
    await event('hal', 0.001);
    await back.next('leaderboard.changed', 1);
    const reported = back.of('leaderboard.changed').length;
    await event('hal', 0.001);
    await back.next('leaderboard.changed', reported);
    back.close();
    return back.of('leaderboard.rank_changed').map(({ leaderboard }) => leaderboard.key as string);
  };
  for (const [at, { id }] of ofBoards.entries()) {
    const behind = ofBoards.slice(at + 1).filter(({ type }) => type === 'leaderboard.rank_changed');
    expect((await ranksAfter(id)).sort()).toEqual(behind.map(({ leaderboard }) => leaderboard.key as string).sort());
  }
});

test('concurrent streams get the same messages of a leaderboard, and each those of its own user', async () => {
  const names = Array.from({ length: 150 }, (_, n) => `crowd-${n}`);
  for (let from = 0; from < names.length; from += 50)
    await Promise.all(names.slice(from, from + 50).map((name, n) => event(name, 100 + from + n)));
  const made: LiveClient[] = [];
  for (const name of names) made.push(await listen({ boards: ['flips'] }, { key: await keyOf(name) }));
  await event('leader', 100_000);
  // Everyone was passed.
  await Promise.all(made.map((client) => client.next('leaderboard.rank_changed')));
  for (const [n, client] of made.entries()) {
    const { user, leaderboard } = client.of('leaderboard.rank_changed')[0]!;
    expect(user.id).toBe(names[n]);
    expect(leaderboard.rank).toBe(leaderboard.previousRank + 1);
    // The first may be of the events before.
    const first = (): unknown => client.of('leaderboard.changed').at(-1)?.leaderboard.rankings[0];
    await expect.poll(first).toMatchObject({ userId: 'leader', rank: 1, value: 100_000 });
    expect(client.of('leaderboard.changed').at(-1)!.leaderboard.rankings).toHaveLength(10);
  }
});

test('an idle stream sends a heartbeat with an ID behind everything that happened', async () => {
  const [ready, ...others] = quiet.messages;
  expect([ready!.type, others]).toEqual(['ready', []]);
  await expect.poll(() => quiet.lastId, { interval: 100 }).not.toBe(ready!.id);
  const { lastId } = quiet;
  quiet.close();
  const back = await LiveClient.open(laurel.appUrl, {}, lastId!);
  clients.push(back);
  expect(await back.next('ready')).toMatchObject({ resumed: true, heartbeatSeconds: 25 });
});
