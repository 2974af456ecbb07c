import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { SHARDS } from '../../../src/redis/keys.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

// Makes one leaderboard, one tenant and one user fail in the databases themselves: all other due work is done.

const BOARD = { name: 'B', rankBy: 'metric', metricKey: 'm', start: '2030-01-01', status: 'active' } as const;
const DAILY = { ...BOARD, runUnit: 'day', runInterval: 1 } as const;
const CONFIGURATION: Configuration = {
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  achievements: [{ key: 'five', name: 'Five', trigger: 'metric', metricKey: 'm', metricValue: 5, status: 'inactive' }],
  pointsSystems: [
    {
      key: 'time',
      name: 'Time',
      triggers: [{ type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' }],
    },
  ],
  leaderboards: [
    { ...DAILY, key: 'run' },
    { ...DAILY, key: 'run-of-another' },
    { ...BOARD, key: 'snapshots' },
    { ...BOARD, key: 'gone' },
    { ...BOARD, key: 'filled', status: 'inactive' },
    { ...BOARD, key: 'filled-too', status: 'inactive' },
    { key: 'streaks', name: 'S', rankBy: 'streak', start: '2030-01-01', status: 'active' },
  ],
};
/** Both are on one shard. */
const BROKEN = { tenantId: 'broken', no: 1 };
const WELL = { tenantId: 'well', no: BROKEN.no + SHARDS };

let number: Record<string, number>;
const laurel = opened(() => startLaurel({ testClock: true, clockPatienceMs: 10_000, workers: true }));
beforeAll(async () => {
  await clock('2030-01-05T10:00:00Z');
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  const customers = [BROKEN.tenantId, ...Array.from({ length: SHARDS - 1 }, (_, n) => `between ${n}`), WELL.tenantId];
  // The maximum of a request.
  for (let at = 0; at < customers.length; at += 100) {
    const created = customers.slice(at, at + 100).map((customerId) => ({ customerId, name: customerId }));
    await laurel.admin.post('/v1/tenants', created);
  }
  for (const { tenantId } of [BROKEN, WELL]) {
    await configure(tenantId, CONFIGURATION);
    for (const id of ['ada', 'bob', 'eve']) await event(tenantId, id);
  }
  await clock('2030-01-05T10:01:00Z');
  const { rows } = await laurel.pool.query<{ key: string; no: number }>(
    "SELECT kind || ' ' || (doc->>'key') AS key, no FROM catalog_resources WHERE tenant_no = 1 AND doc ? 'key'",
  );
  number = Object.fromEntries(rows.map(({ key, no }) => [key, no]));
});

const clock = (now: string) => laurel.admin.put('/v1/clock', { now });
const event = async (tenantId: string, id: string): Promise<void> => {
  const headers = { 'Idempotency-Key': `of ${id}` };
  const sent = { user: { id, tz: 'Europe/Paris' }, value: 5 };
  expect((await laurel.app.post('/v1/metrics/m/event', sent, { tenantId, headers })).status).toBe(201);
};
const configure = async (tenantId: string, configuration: Configuration): Promise<void> => {
  const { status, body } = await laurel.admin.put('/v1/configuration', configuration, { tenantId });
  expect({ status, body }).toMatchObject({ status: 200 });
};
const count = async (text: string): Promise<number> =>
  Number((await laurel.pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${text}`)).rows[0]!.n);

/** What each table refuses, by the names of the refusing triggers. */
const refused = (): Record<string, [when: string, table: string, of: string]> => {
  const tenant = 'tenant_no = 1';
  const board = (key: string): string => `${tenant} AND NEW.board_no = ${number[`leaderboard ${key}`]}`;
  const jobOf = (key: string): string =>
    `NEW.${tenant} AND NEW.parameters ->> 'boardNo' = '${number[`leaderboard ${key}`]}'`;
  return {
    run: ['INSERT OR UPDATE', 'board_runs', board('run')],
    snapshot: ['INSERT', 'board_snapshots', board('snapshots')],
    fill: ['UPDATE OF cursor', 'jobs', `kind = 'leaderboard_filling' AND ${jobOf('filled')}`],
    backdating: ['UPDATE OF cursor', 'jobs', `kind = 'backdating' AND NEW.${tenant}`],
    time: ['INSERT OR UPDATE', 'time_trigger_progress', tenant],
    sweep: ['UPDATE', 'streak_zones', tenant],
    gone: ['DELETE', 'board_progress', tenant],
  };
};
async function breakRows(): Promise<void> {
  await laurel.pool.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'broken on purpose'; END $$`);
  for (const [name, [when, table, of]] of Object.entries(refused())) {
    const row = when === 'DELETE' ? 'OLD' : 'NEW';
    await laurel.pool.query(
      `CREATE TRIGGER ${name} BEFORE ${when} ON ${table} FOR EACH ROW WHEN (${row}.${of}) EXECUTE FUNCTION refuse()`,
    );
  }
}
async function mendRows(): Promise<void> {
  for (const [name, [, table]] of Object.entries(refused()))
    await laurel.pool.query(`DROP TRIGGER ${name} ON ${table}`);
}

/** Epoch day of the clock at the end. */
const TODAY = Date.UTC(2030, 0, 26) / 86_400_000;

/** A tenant's completed work, when nothing is due any more. */
async function done(tenantNo: number, tenantId: string): Promise<object> {
  const of = `tenant_no = ${tenantNo}`;
  const runs = [number['leaderboard run'], number['leaderboard run-of-another']].join();
  const { body: completed } = await laurel.app.get('/v1/users/bob/achievements', { tenantId });
  const { body: points } = await laurel.app.get('/v1/users/bob/points/time', { tenantId });
  const { body: streaks } = await laurel.app.get('/v1/leaderboards/streaks', { tenantId });
  const hot = await Promise.all(
    (await laurel.redis.keys(`{s1}:${tenantNo}:i:????`)).map((key) => laurel.redis.type(key)),
  );
  return {
    open: await count(`board_progress WHERE ${of} AND next_run_day < ${TODAY} AND board_no IN (${runs})`),
    withoutSnapshot: await count(
      `board_progress WHERE ${of} AND next_run_day IS NOT NULL AND next_snapshot_day < ${TODAY}`,
    ),
    fills: await count(`jobs WHERE kind = 'leaderboard_filling' AND ${of} AND status <> 'done'`),
    backdated: completed.length,
    points: points.total,
    streaks: streaks.rankings.length,
    hotKeys: hot.filter((type) => type === 'hash').length,
  };
}
/** Three weeks of work take minutes on a busy machine. */
const PATIENCE = { timeout: 300_000 };
const DONE = { open: 0, fills: 0, backdated: 1, points: 21, streaks: 0, hotKeys: 0 };

test('names and counts failures, does everything else, and later what had failed', { timeout: 900_000 }, async () => {
  await breakRows();
  // One user's state cannot be read.
  const eve = `{s1}:1:u:eve`;
  const state = (await laurel.redis.getBuffer(eve))!;
  await laurel.redis.set(eve, 'broken on purpose');
  const bucket = '{s1}:1:i:ffff';
  await laurel.redis.set(bucket, 'broken on purpose');

  const boards = CONFIGURATION.leaderboards!.filter(({ key }) => key !== 'gone');
  const later: Configuration = {
    ...CONFIGURATION,
    achievements: [{ ...CONFIGURATION.achievements![0]!, status: 'active' }],
    leaderboards: boards.map((board) => ({ ...board, status: 'active' })),
  };
  for (const { tenantId } of [BROKEN, WELL]) await configure(tenantId, later);

  const held = await clock('2030-01-26T13:30:00Z');
  expect(held.status).toBe(503);
  for (const name of [
    "leaderboard 'run' of tenant 1",
    "leaderboard 'snapshots' of tenant 1",
    "leaderboard 'filled' of tenant 1",
    'points for time (tenant 1)',
    'zone Europe/Paris of tenant 1',
    `leaderboard no. ${number['leaderboard gone']} of tenant 1`,
  ])
    expect(held.body.error).toContain(name);
  expect(held.body.error).not.toContain('tenant 9');
  await expect.poll(() => done(WELL.no, WELL.tenantId), PATIENCE).toMatchObject({ ...DONE, withoutSnapshot: 0 });
  // The other leaderboards of the same tenant, too.
  const other = `board_runs WHERE tenant_no = 1 AND is_final AND board_no = ${number['leaderboard run-of-another']}`;
  await expect.poll(() => count(other)).toBe(25);
  expect(await count(`jobs WHERE kind = 'leaderboard_filling' AND tenant_no = 1 AND status <> 'done'`)).toBeGreaterThan(
    0,
  );
  const metrics = async () => (await fetch(`${laurel.adminUrl}/metrics`)).text();
  for (const kind of [
    'snapshots and final runs of leaderboards',
    'filling of leaderboards',
    'backdating of achievements',
    'points for time',
    'midnights of streaks',
    'sets of deleted boards',
    'ageing of idempotency keys',
  ])
    await expect.poll(metrics).toMatch(new RegExp(`laurel_scheduled_work_failures_total\\{kind="${kind}"\\} [1-9]`));

  await mendRows();
  await laurel.redis.set(eve, state);
  await laurel.redis.del(bucket);
  await expect.poll(async () => (await clock('2030-01-26T13:30:00Z')).status).toBe(200);
  // Idempotency keys are processed once a day.
  await expect.poll(async () => (await clock('2030-01-27T13:30:00Z')).status).toBe(200);
  // Failed work is retried after half a minute at most; setting the clock waits 10 s for activated resources.
  const mended = { ...DONE, points: 22, withoutSnapshot: 0 };
  await expect.poll(() => done(BROKEN.no, BROKEN.tenantId), PATIENCE).toMatchObject(mended);
});
