import { afterAll, beforeAll, expect, test } from 'vitest';
import { PostgresIsOlder } from '../../../src/engine/availability/inspection.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { startWorkers, type Workers } from '../../../workers/start.ts';
import { startLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { backUp } from '../rebuild/back-up.ts';
import { OwnCluster } from '../../stack/own-cluster.ts';
import { opened } from '../../stack/opened.ts';

// A Postgres that returns with older data is older for the tenants of all servers, even if only one server shows it.

/** In the order of their numbers, which begin at 1. Shards 1 and 2 are on different masters. */
const TENANTS = ['one', 'two'];

let workers: Workers | undefined;

const cluster = opened(() => OwnCluster.start());
const laurel = opened(() => startLaurel({ redisUrl: cluster.url }));
beforeAll(async () => {
  await addTenants(laurel, TENANTS);
  const { redisUrl, databaseUrl } = laurel;
  // Without kept copies of what Postgres received.
  workers = await startWorkers({ redisUrl, databaseUrl, log: createLog({ level: 'fatal', name: 'test' }), keepMs: 0 });
});
afterAll(async () => {
  await workers?.close();
});

const event = async (tenantId: string): Promise<number> =>
  (await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 }, { tenantId })).status;
const count = async (text: string): Promise<number> => (await laurel.pool.query<{ n: number }>(text)).rows[0]!.n;
const stored = (): Promise<number> => count('SELECT count(*)::int AS n FROM events');
const epoch = (): Promise<number> => count('SELECT epoch::int AS n FROM redis_epoch');
const readiness = async (): Promise<number> => (await fetch(`${laurel.appUrl}/readyz`)).status;

test('it closes the tenants of all servers, and a rebuild touches none of them until the loss is accepted', async () => {
  expect(await cluster.masterOf(1)).not.toBe(await cluster.masterOf(2));
  for (const tenantId of TENANTS) expect(await event(tenantId)).toBe(201);
  await expect.poll(stored).toBe(2);
  const bringBack = await backUp(laurel.pool);
  expect(await event('one')).toBe(201);
  await expect.poll(stored).toBe(3);
  for (const shard of [1, 2]) await expect.poll(() => laurel.redis.xlen(`{s${shard}}:outbox`)).toBe(0);
  await bringBack();

  for (const tenantId of TENANTS) await expect.poll(() => event(tenantId)).toBe(503);
  await expect.poll(readiness).toBe(503);
  const before = await epoch();
  const redis = await laurel.connect();
  const by = { redis, pool: laurel.pool };
  await expect(rebuildServers(by)).rejects.toThrow(PostgresIsOlder);
  expect(await epoch()).toBe(before);
  expect(await event('two')).toBe(503);
  await rebuildServers({ ...by, acceptLoss: true });
  for (const tenantId of TENANTS) await expect.poll(() => event(tenantId)).toBe(201);
  await expect.poll(readiness).toBe(200);
});
