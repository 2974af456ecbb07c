import type { QueryConfig } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { shardOfKey } from '../../../src/redis/keys.ts';
import { rebuildByHand } from '../../engine/rebuild/by-hand.ts';
import { filled, make, plan } from '../../engine/recomputations/recompute-laurel.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { emptyRedis, keysOf } from '../../stack/all-servers.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

// Teams on leaderboards. `TEST_SPREAD=4` puts their members on four shards.

const BOARD = { status: 'active', start: '2030-03-01', teamAttributeKey: 'guild' } as const;
const OF_M = { ...BOARD, rankBy: 'metric', metricKey: 'm' } as const;
const CONFIGURATION: Configuration = {
  attributes: [
    { key: 'guild', name: 'Guild', type: 'user' },
    { key: 'land', name: 'Land', type: 'user' },
  ],
  metrics: [{ key: 'm', name: 'M', unitType: 'number' }],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' }],
    },
  ],
  leaderboards: [
    { ...OF_M, key: 'sums', name: 'Sums', runUnit: 'day', runInterval: 1 },
    { ...OF_M, key: 'means', name: 'Means', teamsBy: 'mean', teamMinMembers: 2 },
    { ...BOARD, key: 'points', name: 'Points', rankBy: 'points', pointsSystemKey: 'xp' },
    { key: 'plain', name: 'Plain', rankBy: 'metric', metricKey: 'm', status: 'active', start: '2030-03-01' },
  ],
};

let redis: TestLaurel['redis'];
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
  await to('2030-03-01T12:00:00Z');
  const { status, body } = await laurel.admin.put('/v1/configuration', CONFIGURATION);
  if (status !== 200) throw new Error(JSON.stringify(body));
});

const to = (now: string) => laurel.admin.put('/v1/clock', { now });

/** Sends an event; `guild`: the user's team from then on. */
async function earn(id: string, value: number, guild?: string): Promise<string> {
  const user = { id, ...(guild !== undefined && { attributes: { guild } }) };
  const { status, body } = await laurel.app.post('/v1/metrics/m/event', { user, value });
  expect([status, body.error]).toEqual([201, undefined]);
  return body.eventId;
}

async function teams(board: string, query = ''): Promise<string[]> {
  const { status, body } = await laurel.app.get(`/v1/leaderboards/${board}/teams?${query}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.rankings.map(
    ({ team, rank, value, members }: { team: string; rank: number; value: number; members: number }) =>
      `${rank} ${team} ${value} of ${members}`,
  );
}

/** Reads are reused for a moment. */
const soon = (board: string, wanted: string[], query = '') => expect.poll(() => teams(board, query)).toEqual(wanted);

const differences = () => differencesIn({ redis, pool: laurel.pool });

test('teams have the exact sum, or the mean, of what their members earned', async () => {
  await earn('ada', 0.1, 'red');
  await earn('ada', 0.2);
  await earn('bob', 0.7, 'red');
  await earn('cleo', 3, 'blue');
  await earn('alone', 9);
  await earn('dora', 0.5, 'green');
  await earn('eve', 0.5, 'green');
  await soon('sums', ['1 blue 3 of 1', '2 red 1 of 2', '2 green 1 of 2']);
  await soon('means', ['1 red 0.5 of 2', '1 green 0.5 of 2']);
  await soon('points', ['1 blue 6 of 1']);
  const { body } = await laurel.app.get('/v1/leaderboards/means/teams?limit=0');
  expect(body).toMatchObject({
    key: 'means',
    status: 'active',
    teamAttribute: 'guild',
    teamsBy: 'mean',
    teamMinMembers: 2,
  });
  expect(await teams('sums', 'offset=1&limit=1')).toEqual(['2 red 1 of 2']);
  expect(await teams('sums', 'team=red&offset=-1&limit=2')).toEqual(['1 blue 3 of 1', '2 red 1 of 2']);
  expect(await teams('sums', 'team=nobody')).toEqual([]);
  expect(await differences()).toEqual([]);
});

test('a change of team moves only what comes after; a reversal takes from the team of its time', async () => {
  const first = await earn('fay', 4, 'red');
  await earn('fay', 5, 'blue');
  await soon('sums', ['1 blue 8 of 2', '2 red 5 of 3', '3 green 1 of 2']);
  await earn('fay', 1, 'red');
  await soon('sums', ['1 blue 8 of 2', '2 red 6 of 3', '3 green 1 of 2']);
  await soon('points', ['1 blue 16 of 2', '2 red 10 of 1']);
  await laurel.app.post('/v1/users', { id: 'fay', attributes: { guild: 'green' } });
  await expect
    .poll(async () => (await laurel.admin.post(`/v1/events/${first}/reverse`, {})).status, { interval: 200 })
    .toBe(200);
  await soon('sums', ['1 blue 8 of 2', '2 red 2 of 3', '3 green 1 of 2']);
  await soon('points', ['1 blue 16 of 2', '2 red 2 of 1']);
  expect(await differences()).toEqual([]);
});

test('hidden users do not count for their teams, and deleted ones no longer', async () => {
  await laurel.admin.patch('/v1/users/fay', { hidden: true });
  await soon('sums', ['1 blue 3 of 1', '2 red 1 of 2', '2 green 1 of 2']);
  await earn('fay', 2);
  expect(await differences()).toEqual([]);
  await laurel.admin.patch('/v1/users/fay', { hidden: false });
  await soon('sums', ['1 blue 8 of 2', '2 green 3 of 3', '3 red 2 of 3']);
  await laurel.admin.delete('/v1/users?ids=cleo');
  await soon('sums', ['1 blue 5 of 1', '2 green 3 of 3', '3 red 2 of 3']);
  await expect.poll(differences).toEqual([]);
});

test('an activated leaderboard gives earlier scores to the present teams; a ninth change of team counts no longer', async () => {
  for (let n = 0; n < 10; n += 1) await earn('nomad', 1, `camp ${n}`);
  await expect.poll(() => teams('sums', 'team=camp 7&limit=1')).toEqual(['2 camp 7 3 of 1']);
  expect(await teams('sums', 'team=camp 9&limit=1')).toEqual([]);
  const { body } = await laurel.admin.get('/v1/leaderboards');
  const { id } = body.find(({ key }: { key: string }) => key === 'plain');
  const attribute = (await laurel.admin.get('/v1/attributes')).body.find(({ key }: { key: string }) => key === 'guild');
  // What a leaderboard scores can be changed only while it is inactive.
  for (const fields of [{ status: 'inactive' }, { teamAttributeId: attribute.id, status: 'active' }]) {
    const changed = await laurel.admin.patch('/v1/leaderboards', [{ id, ...fields }]);
    expect(changed.body.issues).toEqual([]);
  }
  await expect.poll(() => teams('plain', 'team=camp 9&limit=1')).toEqual(['1 camp 9 10 of 1']);
  await expect.poll(differences).toEqual([]);
});

test('a rebuilt Redis gives the same teams; so does Postgres, once the run is final', async () => {
  const read = async () => [await teams('sums', 'run=2030-03-01&limit=100'), await teams('means', 'limit=100')];
  // Not a reading from before the changes of the tests above.
  await soon('means', ['1 green 1 of 3', '2 red 0.666666 of 3']);
  const before = await read();
  expect(before[0]!.length).toBeGreaterThan(8);
  const left = async (): Promise<number> => {
    const outboxes = await keysOf(redis, '{s*}:outbox');
    const lengths = await Promise.all(outboxes.map((key) => connectionOf(redis, shardOfKey(key)).xlen(key)));
    return lengths.reduce((sum, length) => sum + length, 0);
  };
  await expect.poll(left).toBe(0);
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  await expect.poll(read).toEqual(before);
  expect(await differences()).toEqual([]);
  await to('2030-03-03T13:00:00Z');
  await earn('fay', 1);
  const cleared = `SELECT FROM board_runs WHERE run_day = '2030-03-01'::date - '1970-01-01'::date AND is_cleared`;
  await expect.poll(async () => (await laurel.pool.query(cleared)).rowCount).toBe(1);
  expect((await read())[0]).toEqual(before[0]);
  expect((await keysOf(redis, '*:t:*')).filter((key) => key.endsWith(':21974')).length).toBeGreaterThan(0);
  await expect.poll(differences).toEqual([]);
});

test('imported users count for their teams', async () => {
  const users = [{ id: 'gil', attributes: { guild: 'blue' }, metrics: { m: { total: 7, days: { '2030-03-03': 7 } } } }];
  const { status, body } = await laurel.admin.post('/v1/imports?import=crm', users);
  expect([status, body.error]).toEqual([201, undefined]);
  await expect.poll(() => teams('sums', 'team=blue&limit=1')).toEqual(['1 blue 7 of 1']);
  await expect.poll(differences).toEqual([]);
});

test('verify reads the users once, and once more to confirm all hashes of teams that differ', async () => {
  await expect.poll(differences).toEqual([]);
  let reads = 0;
  const ask = laurel.pool.query.bind(laurel.pool) as (...asked: unknown[]) => unknown;
  const query = (asked: QueryConfig, ...values: unknown[]): unknown => {
    if (asked.name?.startsWith('rebuild-users') === true) reads += 1;
    return ask(asked, ...values);
  };
  const pool = Object.assign(Object.create(laurel.pool) as TestLaurel['pool'], { query });
  const keys = (await keysOf(redis, '*:t:*')).toSorted();
  expect(keys.length).toBeGreaterThan(3);
  const add = async (key: string, by: number): Promise<void> => {
    const server = connectionOf(redis, shardOfKey(key));
    if ((await server.hincrby(key, 'wred', by)) === 0) await server.hdel(key, 'wred');
  };
  for (const wrong of [[], keys.slice(1, 3)]) {
    for (const key of wrong) await add(key, 1);
    reads = 0;
    const found = (await differencesIn({ redis, pool })).map(({ key }) => key);
    expect([found.toSorted(), reads]).toEqual([wrong, wrong.length === 0 ? 1 : 2]);
    for (const key of wrong) await add(key, -1);
  }
});

test('reverting a recomputation takes from the team that received it', async () => {
  await to('2030-03-05T12:00:00Z');
  await earn('hue', 5, 'ruby');
  const pay = async (points: number): Promise<void> => {
    const configuration = structuredClone(CONFIGURATION);
    configuration.pointsSystems![0]!.triggers![0]!.points = points;
    configuration.leaderboards!.pop();
    expect((await laurel.admin.put('/v1/configuration', configuration)).status).toBe(200);
    await filled(laurel);
  };
  const of = async (team: string): Promise<number> =>
    Number((await teams('points', `team=${team}&limit=1`))[0]?.split(' ')[2] ?? 0);
  // `ruby`, `teal`: what the teams have before the recomputation. It is not read, since a read of teams may be a moment old.
  for (const [hour, { what, gain, ruby, teal }] of [
    { what: ['points' as const], gain: 10, ruby: 10, teal: 0 },
    { what: ['points' as const, 'boards' as const], gain: 12, ruby: 12, teal: 4 },
  ].entries()) {
    await expect.poll(() => of('ruby')).toBe(ruby);
    await pay(4);
    const { id } = await plan(laurel, { what, since: '2030-03-05' });
    await to(`2030-03-05T1${3 + 2 * hour}:00:00Z`);
    await make(laurel, id, 'apply');
    await expect.poll(() => of('ruby')).toBe(ruby + gain);
    await to(`2030-03-05T1${4 + 2 * hour}:00:00Z`);
    await laurel.app.post('/v1/users', { id: 'hue', attributes: { guild: 'teal' } });
    await earn('hue', 1);
    await expect.poll(() => of('teal')).toBe(teal + 4);
    await make(laurel, id, 'revert');
    await expect.poll(() => of('ruby')).toBe(ruby);
    await expect.poll(() => of('teal')).toBe(teal + 4);
    await pay(2);
    await earn('hue', 1, 'ruby');
    await expect.poll(differences).toEqual([]);
  }
});

test('points of a time trigger count for the team', async () => {
  await earn('ivo', 1, 'plum');
  const configuration = structuredClone(CONFIGURATION);
  configuration.leaderboards!.pop();
  configuration.leaderboards!.push({
    ...configuration.leaderboards![2]!,
    key: 'paid',
    name: 'Paid',
    start: '2030-03-07',
  });
  const hourly = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 3, status: 'active' } as const;
  configuration.pointsSystems![0]!.triggers!.push(hourly);
  await to('2030-03-07T00:00:00Z');
  expect((await laurel.admin.put('/v1/configuration', configuration)).status).toBe(200);
  const paid = async (team: string) => (await teams('paid', `team=${team}&limit=1`))[0]?.replace(/^\d+ /, '');
  // The payment is the user's first score on the leaderboard.
  await to('2030-03-07T01:30:00Z');
  await expect.poll(() => paid('plum')).toBe('plum 3 of 1');
  await earn('ivo', 1, 'rose');
  await expect.poll(() => paid('rose')).toBe('rose 2 of 1');
  await expect.poll(differences).toEqual([]);
});

test('refuses what is not possible', async () => {
  const issues = async (fields: object): Promise<string[]> => {
    const board = { name: 'X', key: 'x', rankBy: 'metric', metricKey: 'm', ...fields };
    const { body } = await laurel.admin.post('/v1/configuration/diff', { leaderboards: [board] });
    return [String(body.error ?? 'accepted')];
  };
  expect(await issues({ teamAttributeKey: 'guild', breakdownAttributes: ['land'] })).toEqual([
    expect.stringContaining('teams compete across groups'),
  ]);
  expect((await laurel.app.get('/v1/leaderboards/nothing/teams')).status).toBe(404);
  expect((await laurel.app.get('/v1/leaderboards/sums/teams?offset=-1')).status).toBe(422);
});
