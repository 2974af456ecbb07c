import { afterAll, beforeAll, expect, test } from 'vitest';
import { shardsInUse } from '../../../src/redis/shards-in-use.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';

let laurel: TestLaurel;

beforeAll(async () => {
  laurel = await startLaurel({ workers: true });
});
afterAll(() => laurel.close());

const shown = async (): Promise<number[]> => {
  const { body } = (await laurel.admin.get('/v1/system')) as { body: { shards: { shard: number }[] } };
  return body.shards.map(({ shard }) => shard);
};

test('the shards in use are those that hold a tenant, in every process as soon as there is one', async () => {
  const other = await laurel.another();
  expect(shardsInUse(laurel.redis)).toEqual([0]);
  expect(await shown()).toEqual([0]);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  const made = [1, 2, 3].map((no) => ({ customerId: `tenant ${no}`, name: `Tenant ${no}` }));
  expect((await other.admin.post('/v1/tenants', made)).status).toBe(201);
  await expect.poll(shown).toEqual([0, 1, 2, 3]);
});
