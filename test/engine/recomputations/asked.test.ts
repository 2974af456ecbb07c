import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { startLaurel } from '../../laurel.ts';
import { backdated, make, plan } from './recompute-laurel.ts';
import { opened } from '../../stack/opened.ts';

const configuration = (points: number): Configuration => ({
  attributes: [{ key: 'plan', name: 'Plan', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  achievements: [{ key: 'five', name: 'Five', trigger: 'metric', metricKey: 'm', metricValue: 5, status: 'active' }],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'metric', metricKey: 'm', metricThreshold: 1, points, status: 'active' },
        { type: 'achievement', achievementKey: 'five', points: 50, status: 'active' },
      ],
    },
  ],
});

const laurel = opened(() => startLaurel({ testClock: true, workers: true, configuration: configuration(1) }));
beforeAll(async () => {
  await to('2033-05-01T12:00:00Z');
});

const to = (now: string) => laurel.admin.put('/v1/clock', { now });
const event = (id: string, value: number, plan = 'free') =>
  laurel.app.post('/v1/metrics/m/event', { user: { id, attributes: { plan } }, value });
const points = async (id: string): Promise<number> => (await laurel.app.get(`/v1/users/${id}/points/xp`)).body.total;
const ask = (body: object) => laurel.admin.post('/v1/recomputations', body);

test('only a cohort, and only what was awarded since a day', async () => {
  await event('ada', 2, 'pro');
  await event('bob', 2);
  await to('2033-05-03T12:00:00Z');
  await event('ada', 1, 'pro');
  await event('bob', 1);
  await laurel.admin.put('/v1/configuration', configuration(3));
  const cohort = { userAttributes: 'plan:pro' };
  const all = await plan(laurel, { what: ['points'], cohort });
  expect(all.samples.gaining).toMatchObject([{ userId: 'ada', points: [{ from: 3, to: 9 }] }]);
  const since = await plan(laurel, { what: ['points'], since: '2033-05-03' });
  expect(since.samples.gaining).toMatchObject([
    { userId: 'ada', points: [{ from: 3, to: 5 }] },
    { userId: 'bob', points: [{ from: 3, to: 5 }] },
  ]);
  await make(laurel, since.id, 'apply');
  expect([await points('ada'), await points('bob')]).toEqual([5, 5]);
  // The other plan is from before that.
  const outdated = await laurel.admin.post(`/v1/recomputations/${all.id}/apply`, undefined);
  expect(outdated).toMatchObject({ status: 409, body: { error: expect.stringContaining(since.id) } });
});

test('refuses contradictory requests; only one is in progress at a time', async () => {
  for (const body of [{ what: [] }, { what: ['all'] }, {}, { what: ['points'], since: 'soon' }])
    expect((await ask(body)).status).toBe(400);
  expect((await ask({ what: ['points'], cohort: { userAttributes: 'shoe:44' } })).status).toBe(422);
  const unknown = '01a2035a-6b10-7c22-9a41-3f0d52a7e101';
  expect((await laurel.admin.get(`/v1/recomputations/${unknown}`)).status).toBe(404);
  expect((await laurel.admin.post(`/v1/recomputations/${unknown}/apply`, undefined)).status).toBe(404);

  // One that no worker picks up.
  await laurel.pool.query(
    `WITH job AS (INSERT INTO jobs (id, kind, tenant_no, subject_id, parameters, result, requested, due)
       VALUES ($1, 'recomputation_planning', 0, $1, '{}', '{}', now(), now() + INTERVAL '1 hour') RETURNING no)
     INSERT INTO recomputations (id, tenant_no, request, cohort, status, catalog_version, requested_by, requested, job_no)
     SELECT $1, 0, '{"what":["points"],"since":null,"cohort":{"userAttributes":null},"mayRevoke":false,"dryRun":true}', '{}', 'planning',
             0, 'test', now(), no FROM job`,
    [unknown],
  );
  const refused = await ask({ what: ['points'] });
  expect(refused).toMatchObject({ status: 409, body: { error: expect.stringContaining(unknown) } });
  for (const step of ['apply', 'revert'])
    expect((await laurel.admin.post(`/v1/recomputations/${unknown}/${step}`, undefined)).status).toBe(409);
  const cancelled = await laurel.admin.post(`/v1/recomputations/${unknown}/cancel`, undefined);
  expect(cancelled).toMatchObject({ status: 202, body: { status: 'cancelled' } });
  expect((await laurel.admin.post(`/v1/recomputations/${unknown}/cancel`, undefined)).status).toBe(409);
});

test('users who changed since the plan was made: applies what still holds, and skips the rest with the reason', async () => {
  await laurel.admin.put('/v1/configuration', configuration(4));
  for (const id of ['gone', 'new', 'quick']) await event(id, 4);
  await laurel.admin.put('/v1/configuration', { ...configuration(5), achievements: [] });
  const low = { ...configuration(5).achievements![0]!, metricValue: 4, status: 'inactive' as const };
  await laurel.admin.put('/v1/configuration', { ...configuration(5), achievements: [low] });
  const planned = await plan(laurel, { what: ['points'] });
  expect(planned.samples.gaining.map(({ userId }) => userId)).toEqual(expect.arrayContaining(['gone', 'new', 'quick']));
  for (const id of ['gone', 'new']) await laurel.admin.send('DELETE', `/v1/users/${id}`);
  await to('2033-05-03T13:00:00Z');
  await event('new', 1);
  await event('quick', 1);
  const applied = await make(laurel, planned.id, 'apply');
  expect(applied).toMatchObject({ status: 'applied' });
  expect([await points('quick'), await points('new')]).toEqual([25, 5]);
  const exported = await laurel.admin.get('/v1/users/quick/export');
  expect(JSON.stringify(exported.body)).toContain('"recomputations"');
});

test('a plan that is applied at once; users who gain an achievement meanwhile get it, and its points, once', async () => {
  await laurel.admin.put('/v1/configuration', configuration(5));
  await backdated(laurel);
  const { rows } = await laurel.pool.query<{ no: number }>(
    `SELECT no FROM catalog_resources WHERE kind = 'achievement' AND deleted IS NULL`,
  );
  await event('eve', 4);
  const planned = await plan(laurel, { what: ['achievements', 'points'] });
  // As if the plan had it for a user who completes it before it is applied.
  await laurel.pool.query(
    `INSERT INTO recomputed_users (recomputation_no, tenant_no, user_id, created_ms, plan, gains)
     SELECT recomputations.no, 0, 'eve', epoch_ms(users.created), jsonb_build_object('complete', jsonb_build_array($2::int),
            'revoke', '[]'::jsonb, 'awards', '[]'::jsonb, 'scores', '[]'::jsonb, 'keeps', true, 'totals', '{}'::jsonb), true
       FROM recomputations, users WHERE recomputations.id = $1 AND users.id = 'eve'`,
    [planned.id, rows[0]!.no],
  );
  await event('eve', 1);
  expect(await points('eve')).toBe(75);
  const applied = await make(laurel, planned.id, 'apply');
  expect(applied.samples.left).toMatchObject([
    { userId: 'eve', status: 'skipped', reason: expect.stringContaining('left to do') },
  ]);
  expect(await points('eve')).toBe(75);

  await laurel.admin.put('/v1/configuration', configuration(6));
  const { body } = await ask({ what: ['points'], dryRun: false });
  await expect.poll(async () => (await laurel.admin.get(`/v1/recomputations/${body.id}`)).body.status).toBe('applied');
  expect(await points('eve')).toBe(80);
});

test('skips users with events reversed since the plan was made: it gave points for them', async () => {
  await laurel.admin.put('/v1/configuration', configuration(6));
  const { eventId } = (await event('ray', 3)).body;
  await event('sue', 3);
  await laurel.admin.put('/v1/configuration', configuration(7));
  const planned = await plan(laurel, { what: ['points'] });
  const ids = planned.samples.gaining.map(({ userId }) => userId);
  expect(ids).toEqual(expect.arrayContaining(['ray', 'sue']));
  expect((await laurel.admin.post(`/v1/events/${eventId}/reverse`, {})).body.status).toBe('reversed');
  const applied = await make(laurel, planned.id, 'apply');
  expect(applied.samples.left).toContainEqual(
    expect.objectContaining({ userId: 'ray', status: 'skipped', reason: expect.stringContaining('reversed since') }),
  );
  expect([await points('ray'), await points('sue')]).toEqual([0, 21]);
  // Planned again, it is as if the event had never been.
  const again = await plan(laurel, { what: ['points'] });
  expect(again.samples.gaining.map(({ userId }) => userId)).not.toContain('ray');
});
