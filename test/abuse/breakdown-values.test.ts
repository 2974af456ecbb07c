import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { startLaurel } from '../laurel.ts';
import { addTenants } from '../several-tenants.ts';
import { keysOf } from '../stack/all-servers.ts';
import { opened } from '../stack/opened.ts';

// End users choose the attribute values that split a leaderboard: as long as allowed, and as many as they like.

const NAMES = ['a', 'b', 'c', 'd'];
const BOARD = { rankBy: 'metric', metricKey: 'm', start: '2030-01-01', status: 'active' } as const;
const CONFIGURATION: Configuration = {
  attributes: NAMES.map((key) => ({ key, name: key, type: 'user' as const })),
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: [
    { ...BOARD, key: 'split', name: 'Split', breakdownAttributes: NAMES, runUnit: 'day', runInterval: 1 },
    { ...BOARD, key: 'ever', name: 'Ever', breakdownAttributes: ['a'] },
    { ...BOARD, key: 'daily', name: 'Daily', runUnit: 'day', runInterval: 1 },
  ],
};

const tenants = ['attacked', 'other'];
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: '2030-01-05T10:00:00Z' });
  await addTenants(laurel, tenants, CONFIGURATION);
  await laurel.admin.put('/v1/clock', { now: '2030-01-05T10:01:00Z' });
});

const event = async (tenantId: string, id: string, attributes: Record<string, string>, value = 5): Promise<void> => {
  const { status } = await laurel.app.post('/v1/metrics/m/event', { user: { id, attributes }, value }, { tenantId });
  expect(status).toBe(201);
};
const places = async (tenantId: string, board: string, query: string): Promise<[string, number][]> => {
  const { status, body } = await laurel.app.get(`/v1/leaderboards/${board}?${query}`, { tenantId });
  expect(status).toBe(200);
  return body.rankings.map(({ userId, value }: { userId: string; value: number }) => [userId, value]);
};
const asked = (attributes: Record<string, string>): string =>
  `userAttributes=${Object.entries(attributes)
    .map(([key, value]) => `${key}:${value}`)
    .join(',')}`;

test('the longest values delay no final run, snapshot or history of any tenant', async () => {
  // Incompressible, like an index entry. Four of them far exceed what one index entry may hold.
  const longest = Object.fromEntries(NAMES.map((name) => [name, randomBytes(512).toString('hex')]));
  const short = Object.fromEntries(NAMES.map((name) => [name, 'x']));
  await event('attacked', 'attacker', longest);
  // Also the longest in bytes: the values that share the index entry with the user.
  await event('attacked', '\u{1F984}'.repeat(255), short);
  for (const tenantId of tenants) await event(tenantId, 'user', short);
  const set = await laurel.admin.put('/v1/clock', { now: '2030-01-07T12:30:00Z' });
  expect({ status: set.status, body: set.body }).toMatchObject({ status: 200 });

  const { rows } = await laurel.pool.query<{ final: boolean; cleared: boolean }>(
    "SELECT is_final AS final, is_cleared AS cleared FROM board_runs WHERE final_at <= '2030-01-07T12:00:00Z'",
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.every(({ final, cleared }) => final && cleared)).toBe(true);
  expect(await places('attacked', 'split', `run=2030-01-05&${asked(longest)}`)).toEqual([['attacker', 5]]);
  for (const tenantId of tenants) {
    const others = tenantId === 'attacked' ? [['\u{1F984}'.repeat(255), 5]] : [];
    const sorted = (found: [string, number][]) => found.toSorted(([a], [b]) => (a < b ? -1 : 1));
    expect(sorted(await places(tenantId, 'split', `run=2030-01-05&${asked(short)}`))).toEqual([['user', 5], ...others]);
    expect(await places(tenantId, 'daily', 'run=2030-01-05&limit=100')).toContainEqual(['user', 5]);
    const { body } = await laurel.app.get('/v1/users/user/leaderboards/ever?numEvents=3', { tenantId });
    expect(body.history.map(({ date }: { date: string }) => date)).toEqual(['2030-01-05', '2030-01-06', '2030-01-07']);
  }
});

test('a user who passes through many groups leaves none of them behind', async () => {
  for (let n = 0; n < 300; n += 1) await event('attacked', 'wanderer', { a: `group ${n}` }, 1);
  const lists = await keysOf(laurel.redis, '*:g:*');
  const listed = (await Promise.all(lists.map((key) => laurel.redis.smembers(key)))).flat();
  expect(listed.filter((group) => group.includes('group '))).toEqual(['9:group 299']);
  expect((await keysOf(laurel.redis, '*:b:*group *')).length).toBe(1);
  expect(await places('attacked', 'ever', asked({ a: 'group 299' }))).toEqual([['wanderer', 300]]);

  const { status } = await laurel.admin.delete('/v1/users?ids=wanderer', { tenantId: 'attacked' });
  expect(status).toBe(200);
  expect(await keysOf(laurel.redis, '*:b:*group *')).toEqual([]);
  const left = (
    await Promise.all((await keysOf(laurel.redis, '*:g:*')).map((key) => laurel.redis.smembers(key)))
  ).flat();
  expect(left.filter((group) => group.includes('group '))).toEqual([]);
});
