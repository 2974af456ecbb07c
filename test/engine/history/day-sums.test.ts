import { beforeAll, expect, test } from 'vitest';
import { readUser } from '../../../src/cli/source-users.ts';
import { untilPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { sumUsers } from '../../../src/postgres/persist/day-sums.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { startLaurel } from '../../laurel.ts';
import { CATALOG, happen, USERS } from '../imports/random-past.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  // Before anything is configured: otherwise each day until then would be checked.
  await laurel.admin.put('/v1/clock', { now: '2030-05-28T09:00:00Z' });
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
});

/** Length of each history; `npm run test:long` plays longer ones. */
const DAYS = Number(process.env['RUNS'] ?? 20) > 100 ? 24 : 10;

/** Differences between the sums and the events and awards of the summed users. */
const DIFFERENCES = `
  WITH events_now AS (
    SELECT tenant_no, user_id, metric_no AS no, local_date, NULL::jsonb AS attributes, count(*) AS events,
           count(*) FILTER (WHERE value > 0) AS positive, sum(value) AS value
      FROM events JOIN summed_users USING (tenant_no, user_id) GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT tenant_no, user_id, metric_no, local_date, attributes, count(*), count(*) FILTER (WHERE value > 0), sum(value)
      FROM events JOIN summed_users USING (tenant_no, user_id) WHERE attributes IS NOT NULL GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT tenant_no, user_id, system_no, local_date, NULL, NULL, NULL, sum(awarded)
      FROM awards JOIN summed_users USING (tenant_no, user_id) GROUP BY 1, 2, 3, 4
  ), sums AS (
    SELECT tenant_no, user_id, metric_no, local_date, attributes, events, positive, value FROM event_days
    UNION ALL
    SELECT tenant_no, user_id, system_no, local_date, NULL, NULL, NULL, awarded FROM award_days
  )
  (TABLE events_now EXCEPT ALL TABLE sums) UNION ALL (TABLE sums EXCEPT ALL TABLE events_now)`;

const rows = async (text: string): Promise<Record<string, unknown>[]> => (await laurel.pool.query(text)).rows;

async function tenantOf(customerId: string): Promise<number> {
  expect((await laurel.admin.post('/v1/tenants', [{ customerId, name: customerId }])).status).toBe(201);
  expect((await laurel.admin.put('/v1/configuration', CATALOG, { tenantId: customerId })).status).toBe(200);
  return (await laurel.pool.query<{ no: number }>('SELECT no FROM tenants WHERE customer_id = $1', [customerId]))
    .rows[0]!.no;
}

/** Summarizes users from now on, however few events they have. */
const sum = (tenantNo: number, userIds: readonly string[]): Promise<void> =>
  transaction(laurel.pool, (client) =>
    sumUsers(
      client,
      userIds.map((userId) => ({ tenantNo, userId })),
      0,
    ),
  );

async function pastOf(tenantId: string): Promise<unknown[]> {
  const answers = [];
  for (const userId of USERS)
    for (const path of [
      'wrapped?year=2030',
      ...['metrics/flips', 'metrics/minutes', 'points/xp', 'points/coins'].map(
        (of) => `${of}/event-summary?aggregation=daily&startDate=2030-05-01&endDate=2030-09-01`,
      ),
    ]) {
      const { status, body } = await laurel.app.get(`/v1/users/${encodeURIComponent(userId)}/${path}`, { tenantId });
      expect(status).toBe(200);
      answers.push(body);
    }
  return answers;
}

test('for any history, sums equal events and awards, and reads answer the same', async () => {
  const tenantId = 'summed';
  const tenantNo = await tenantOf(tenantId);
  const { redis, pool } = laurel;
  const check = async (): Promise<void> => {
    await untilPersisted({ redis, pool }, tenantNo);
    expect(await rows(DIFFERENCES)).toEqual([]);
  };
  // Three from their first event on, two from some time on, one never.
  await sum(tenantNo, USERS.slice(0, 3));
  const seed = Number(process.env['SEED']);
  let nowMs = await happen(laurel, { tenantId, seed, from: '2030-05-28T09:00:00Z', days: DAYS });
  await check();
  await sum(tenantNo, USERS.slice(3, 5));
  await check();
  for (const userId of USERS) {
    const path = `/v1/users/${encodeURIComponent(userId)}`;
    expect((await laurel.app.patch(path, { tz: 'Pacific/Honolulu' }, { tenantId })).status).toBe(200);
  }
  nowMs = await happen(laurel, { tenantId, seed: seed + 1, from: new Date(nowMs).toISOString(), days: DAYS });
  await check();
  expect(Number((await rows('SELECT count(*) FROM event_days'))[0]!['count'])).toBeGreaterThan(15);

  // A recomputation of points adds awards to days that are over.
  const doubled = structuredClone(CATALOG);
  for (const system of doubled.pointsSystems!) for (const trigger of system.triggers!) trigger.points *= 2;
  expect((await laurel.admin.put('/v1/configuration', doubled, { tenantId })).status).toBe(200);
  const { body } = await laurel.admin.post('/v1/recomputations', { what: ['points'] }, { tenantId });
  const reaches = (status: string) =>
    expect
      .poll(async () => (await laurel.admin.get(`/v1/recomputations/${body.id}`, { tenantId })).body.status)
      .toBe(status);
  await reaches('planned');
  await laurel.admin.post(`/v1/recomputations/${body.id}/apply`, undefined, { tenantId });
  await reaches('applied');
  await check();

  // Imports count as well.
  const here = await tenantOf('imported');
  await sum(here, USERS.slice(0, 3));
  const asking = async (path: string): Promise<unknown> => (await laurel.app.get(path, { tenantId })).body;
  const users = [];
  for (const userId of USERS) users.push((await readUser(asking, { userId, systemKeys: ['xp', 'coins'], nowMs })).user);
  expect((await laurel.admin.post('/v1/imports?import=past', users, { tenantId: 'imported' })).status).toBe(201);
  await untilPersisted({ redis, pool }, here);
  expect(await rows(DIFFERENCES)).toEqual([]);
  expect(await rows(`SELECT FROM event_days WHERE tenant_no = ${here} LIMIT 1`)).toHaveLength(1);

  // A deleted user who returns starts over.
  expect((await laurel.admin.delete('/v1/users?ids=ada', { tenantId })).status).toBe(200);
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 3 }, { tenantId });
  await check();
  for (const table of ['event_days', 'award_days', 'summed_users'])
    expect(await rows(`SELECT FROM ${table} WHERE tenant_no = ${tenantNo} AND user_id = 'ada'`)).toEqual([]);

  const answers = await pastOf(tenantId);
  await sum(tenantNo, ['ada', 'fay']);
  expect(await pastOf(tenantId)).toEqual(answers);
  await pool.query('TRUNCATE summed_users, event_days, award_days');
  expect(await pastOf(tenantId)).toEqual(answers);
});

test('summarizes a user with very many events automatically, but not one with few', async () => {
  const tenantId = 'many';
  const tenantNo = await tenantOf(tenantId);
  const { redis, pool } = laurel;
  const event = (id: string, value: number) => ({ key: 'flips', user: { id }, value, attributes: { deck: 'verbs' } });
  for (let n = 0; n < 22; n += 1) {
    const events = Array.from({ length: 100 }, (_, nth) => event('busy', nth % 3));
    const { status } = await laurel.admin.post('/v1/metrics/events?wait=true', [...events, event('calm', 1)], {
      tenantId,
    });
    expect(status).toBe(200);
  }
  await untilPersisted({ redis, pool }, tenantNo);
  const summed = await rows(`SELECT user_id FROM summed_users WHERE tenant_no = ${tenantNo}`);
  expect(summed).toEqual([{ user_id: 'busy' }]);
  expect(await rows(DIFFERENCES)).toEqual([]);
});
