import { expect, test } from 'vitest';
import { shardsInUse } from '../../../src/redis/endpoints.ts';
import { STUDY_APP } from '../../study-app.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ workers: true }));

const shown = async (): Promise<number[]> => {
  const { body } = (await laurel.admin.get('/v1/system')) as { body: { shards: { shard: number }[] } };
  return body.shards.map(({ shard }) => shard);
};

test('the shards in use are those with a tenant, in every process as soon as there is one', async () => {
  const other = await laurel.another();
  expect(shardsInUse(laurel.redis)).toEqual([0]);
  expect(await shown()).toEqual([0]);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  const made = [1, 2, 3].map((no) => ({ customerId: `tenant ${no}`, name: `Tenant ${no}` }));
  expect((await other.admin.post('/v1/tenants', made)).status).toBe(201);
  await expect.poll(shown).toEqual([0, 1, 2, 3]);
});

test('a worker stores many shards at a time without a warning of its process', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): number => warnings.push(warning);
  process.on('warning', onWarning);
  const tenants = Array.from({ length: 16 }, (_, no) => ({ customerId: `busy ${no}`, name: `Busy ${no}` }));
  expect((await laurel.admin.post('/v1/tenants', tenants)).status).toBe(201);
  for (const { customerId: tenantId } of tenants)
    expect((await laurel.admin.put('/v1/configuration', STUDY_APP, { tenantId })).status).toBe(200);
  await Promise.all(
    tenants.map(async ({ customerId: tenantId }) => {
      const event = { user: { id: 'ada' }, value: 1 };
      expect((await laurel.app.post('/v1/metrics/flips/event', event, { tenantId })).status).toBe(201);
    }),
  );
  const stored = async (): Promise<number> =>
    (await laurel.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM events WHERE user_id = 'ada'`)).rows[0]!.n;
  await expect.poll(stored).toBe(tenants.length);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
