import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import type { JobKind, ShownJob } from '../../../src/domain/administration/job.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { addJob } from '../../../src/postgres/jobs.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

// Without workers: the test runs jobs slice by slice.
const NOBODY = '00000000-0000-7000-8000-000000000000';
const configuration = (status: 'active' | 'inactive'): Configuration => ({
  metrics: [{ key: 'm', name: 'M' }],
  achievements: [{ key: 'one', name: 'One', trigger: 'metric', metricKey: 'm', metricValue: 1, status }],
  leaderboards: [{ key: 'all', name: 'All', rankBy: 'metric', metricKey: 'm', start: '2020-01-01', status }],
});

const laurel = opened(() => startLaurel({ configuration: configuration('inactive') }));
beforeAll(async () => {
  await laurel.admin.put('/v1/configuration', configuration('active'));
});

const list = async (query = ''): Promise<ShownJob[]> => (await laurel.admin.get(`/v1/jobs?${query}`)).body;
const newest = async (kind: JobKind): Promise<ShownJob> => (await list(`kind=${kind}&limit=1`))[0]!;
const change = (job: Pick<ShownJob, 'id'>, action: 'cancel' | 'retry', options = {}) =>
  laurel.admin.post(`/v1/jobs/${job.id}/${action}`, undefined, options);
/** A runner of one kind, whose slices the test controls. */
const runner = (kind: JobKind, slice: () => Promise<void>): JobRunner =>
  new JobRunner({
    pool: laurel.pool,
    works: [
      {
        kinds: [kind],
        title: 'a test',
        slice: async (_, record) => {
          await slice();
          await record(async () => ({ done: 1, cursor: 'x' }));
        },
      },
    ],
  });

test('lists jobs newest first, with their subjects, by kind, status and page', async () => {
  const kinds = (jobs: ShownJob[]) => jobs.map(({ kind }) => kind);
  expect(kinds(await list())).toEqual(['leaderboard_filling', 'backdating']);
  expect(kinds(await list('kind=backdating&status=waiting'))).toEqual(['backdating']);
  expect(kinds(await list('status=done'))).toEqual([]);
  expect(kinds(await list('limit=1&skip=1'))).toEqual(['backdating']);
  expect((await laurel.admin.get('/v1/jobs?kind=other')).status).toBe(422);
  const [achievement] = (await laurel.admin.get('/v1/achievements')).body;
  const backdating = await newest('backdating');
  expect(backdating).toMatchObject({
    subject: { kind: 'achievement', id: achievement.id, name: 'One' },
    status: 'waiting',
    progress: { done: 0, total: null },
    attempts: 0,
    error: null,
    mayCancel: true,
    mayRetry: false,
    started: null,
  });
  expect((await laurel.admin.get(`/v1/jobs/${backdating.id}`)).body).toEqual(backdating);
  expect((await laurel.admin.get(`/v1/jobs/${NOBODY}`)).status).toBe(404);
});

test('a failed job says why, and is retried later, or at once on request', async () => {
  let failing = true;
  const fails = runner('backdating', async () => {
    if (failing) throw new Error('broken on purpose');
  });
  expect((await change(await newest('backdating'), 'retry')).status).toBe(409);
  const began: Date = (await laurel.pool.query('SELECT now() AS at')).rows[0].at;
  expect(await fails.step()).toBe(true);
  expect(await newest('backdating')).toMatchObject({ attempts: 1, error: 'broken on purpose', mayRetry: true });
  const { rows } = await laurel.pool.query<{ due: Date }>(`SELECT due FROM jobs WHERE kind = 'backdating'`);
  expect(rows.map(({ due }) => due.getTime() - began.getTime() >= 250)).toEqual([true]);
  await laurel.pool.query(`UPDATE jobs SET due = now() + INTERVAL '1 hour' WHERE kind = 'backdating'`);
  expect(await fails.step()).toBe(false);
  expect(await change(await newest('backdating'), 'retry')).toMatchObject({ status: 200, body: { attempts: 0 } });
  failing = false;
  expect(await fails.step()).toBe(true);
  expect(await newest('backdating')).toMatchObject({ status: 'running', error: null, progress: { done: 1 } });
});

test('a cancelled job records nothing more; run again, it starts over; both are in the audit log', async () => {
  const job = await newest('backdating');
  const cancelsMeanwhile = runner('backdating', async () => {
    expect((await change(job, 'cancel')).body).toMatchObject({ status: 'cancelled', mayCancel: false, mayRetry: true });
  });
  await cancelsMeanwhile.step();
  expect(await newest('backdating')).toMatchObject({ status: 'cancelled', progress: { done: 1 } });
  expect(await cancelsMeanwhile.step()).toBe(false);
  expect((await laurel.admin.get('/v1/backdatings')).body).toMatchObject([{ status: 'cancelled' }]);
  expect((await change(job, 'cancel')).status).toBe(409);
  expect((await change(job, 'retry')).body).toMatchObject({ status: 'waiting', progress: { done: 0 }, finished: null });
  const { body: entries } = await laurel.admin.get(`/v1/audit-log?kind=job&resourceId=${job.id}`);
  expect(entries.map(({ action, name }: { action: string; name: string }) => [action, name])).toEqual([
    ['retry', 'One'],
    ['cancel', 'One'],
    ['retry', 'One'],
  ]);
});

test('a worker whose lease has ended records nothing', async () => {
  const late = runner('backdating', async () => {
    // Another worker has the job meanwhile.
    await laurel.pool.query(`UPDATE jobs SET lease = gen_random_uuid() WHERE kind = 'backdating'`);
  });
  await late.step();
  expect(await newest('backdating')).toMatchObject({ status: 'waiting', progress: { done: 0 } });
});

test('a repeated request replaces the job, also a running one', async () => {
  const before = await newest('leaderboard_filling');
  const replaced = runner('leaderboard_filling', async () => {
    for (const status of ['inactive', 'active'] as const)
      expect((await laurel.admin.put('/v1/configuration', configuration(status))).status).toBe(200);
  });
  await replaced.step();
  const after = await newest('leaderboard_filling');
  expect(after.id).not.toBe(before.id);
  expect(after).toMatchObject({ status: 'waiting', progress: { done: 0 } });
  expect((await laurel.admin.get(`/v1/jobs/${before.id}`)).status).toBe(404);
});

test('a recomputation is cancelled with its job, and is planned again instead of retried', async () => {
  const { body } = await laurel.admin.post('/v1/recomputations', { what: ['points'] });
  const job = await newest('recomputation_planning');
  expect(job).toMatchObject({ subject: { kind: 'recomputation', id: body.id }, requestedBy: expect.any(String) });
  expect((await change(job, 'cancel')).status).toBe(200);
  expect((await laurel.admin.get(`/v1/recomputations/${body.id}`)).body.status).toBe('cancelled');
  expect((await change(job, 'retry')).status).toBe(409);
});

test('rights to see and change jobs', async () => {
  const [reads] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reads', access: 'read' }])).body.created;
  const job = await newest('backdating');
  expect((await laurel.admin.get('/v1/jobs', { key: reads.key })).body).toHaveLength(3);
  for (const action of ['cancel', 'retry'] as const)
    expect((await change(job, action, { key: reads.key })).status).toBe(403);

  await addJob(laurel.pool, { kind: 'event_retention', tenantNo: null, parameters: { firstDay: 0 } });
  const retention = await newest('event_retention');
  expect(retention).toMatchObject({ subject: null, mayCancel: false });
  expect(await change(retention, 'cancel')).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('RETENTION') },
  });

  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'b', name: 'B' }]);
  const [{ key }] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'b', tenantId: 'b' }])).body.created;
  const asB = { tenantId: 'b', key };
  expect((await laurel.admin.get('/v1/jobs', asB)).body).toEqual([]);
  for (const { id } of [job, retention]) {
    expect((await laurel.admin.get(`/v1/jobs/${id}`, asB)).status).toBe(404);
    expect((await change({ id }, 'cancel', asB)).status).toBe(404);
  }
});
