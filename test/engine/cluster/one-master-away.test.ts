import { beforeAll, describe, expect, test } from 'vitest';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { connectRedis, redisReady } from '../../../src/redis/client.ts';
import { byServer, onServer } from '../../../src/redis/endpoints.ts';
import { INSTALLATION_SLOT } from '../../../src/redis/cluster-layout.ts';
import { startLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { OwnCluster } from '../../stack/own-cluster.ts';
import type { OwnRedis } from '../rebuild/own-redis.ts';
import { opened } from '../../stack/opened.ts';

/** In the order of their numbers, which begin at 1. */
const TENANTS = ['one', 'two', 'three', 'four', 'five'];

/** The events that were accepted. */
let taken: number;
/** The tenants and shards of each master. */
let held: Map<OwnRedis, { tenants: string[]; shards: number[] }>;
/** The master of the keys outside all shards. */
let home: OwnRedis;

const cluster = opened(() => OwnCluster.start());
const laurel = opened(() => startLaurel({ redisUrl: cluster.url, workers: true }));
beforeAll(async () => {
  await addTenants(laurel, TENANTS);
  held = new Map(cluster.nodes.map((node) => [node, { tenants: [], shards: [] }]));
  for (const [index, tenantId] of TENANTS.entries()) {
    const of = held.get(await cluster.masterOf(index + 1))!;
    of.tenants.push(tenantId);
    of.shards.push(index + 1);
  }
  home = await cluster.masterOfSlot(INSTALLATION_SLOT);
  taken = 0;
});

/** Sends a tenant's next event: the same one again, with its key, until it is accepted. An earlier try may have been. */
async function event(tenantId: string): Promise<number> {
  const headers = { 'Idempotency-Key': `event ${accepted.get(tenantId) ?? 0}` };
  const { status } = await laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: 'ada' }, value: 1 },
    { tenantId, headers },
  );
  if (status !== 201 && status !== 202) return status;
  accepted.set(tenantId, (accepted.get(tenantId) ?? 0) + 1);
  taken += 1;
  return 201;
}
const accepted = new Map<string, number>();

const read = async (tenantId: string): Promise<number> =>
  (await laurel.app.get('/v1/users/ada/metrics/flips', { tenantId })).status;

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

/** The answers to some rounds of events and reads. */
async function answers(tenants: readonly string[], rounds: number): Promise<Set<number>> {
  const seen = new Set<number>();
  for (let n = 0; n < rounds; n += 1)
    for (const tenantId of tenants) {
      seen.add(await event(tenantId));
      seen.add(await read(tenantId));
    }
  return seen;
}

const READ_AND_WRITTEN = new Set([200, 201]);

describe.each([
  ['that holds the queues', true],
  ['that holds no queues', false],
])('while the master %s is down', (_, isHome) => {
  test('tenants of other masters see no 503, and their events are stored', async () => {
    const server = isHome ? home : cluster.nodes.find((node) => node !== home && held.get(node)!.tenants.length > 0)!;
    const { tenants: away, shards: awayShards } = held.get(server)!;
    expect(away.length).toBeGreaterThan(0);
    const served = TENANTS.filter((tenantId) => !away.includes(tenantId));
    const before = taken;
    await server.kill();
    try {
      expect(await answers(served, 20)).toEqual(READ_AND_WRITTEN);
      for (const tenantId of away) expect(await event(tenantId)).toBe(503);
      expect((await fetch(`${laurel.appUrl}/readyz`)).status).toBe(200);
      expect(taken).toBe(before + 20 * served.length);
      // A batch is found without its wake-up.
      const batch = Array.from({ length: 5 }, () => ({ key: 'flips', user: { id: 'eve' }, value: 1 }));
      expect((await laurel.admin.post('/v1/metrics/events', batch, { tenantId: served[0]! })).status).toBe(202);
      taken += batch.length;
      await expect.poll(stored).toBe(taken);

      // Shards on other masters can be compared, and rebuilt by hand.
      const shards = TENANTS.map((__, index) => index + 1).filter((shard) => !awayShards.includes(shard));
      const redis = await connectRedis(laurel.redisUrl);
      try {
        redis.on('error', () => undefined);
        onServer(redis, (each) => void each.redis.on('error', () => undefined));
        for (const { redis: well } of byServer(redis, shards)) await redisReady(well);
        await verify({ redis, pool: laurel.pool, shards, onDifference: ({ key }) => expect.fail(key) });
        await rebuildServers({ redis, pool: laurel.pool, shards });
      } finally {
        redis.disconnect();
      }
      for (const tenantId of served) await expect.poll(() => event(tenantId)).toBe(201);
      await expect.poll(stored).toBe(taken);
    } finally {
      // It returns empty: only its shards are rebuilt.
      server.lose();
      await server.start();
    }
    for (const tenantId of away) await expect.poll(() => event(tenantId)).toBe(201);
    // Nodes of a busy machine may take one another for failed again.
    await expect.poll(() => answers(TENANTS, 1)).toEqual(READ_AND_WRITTEN);
    await expect.poll(stored).toBe(taken);
  });
});

test('a master that hangs delays only its own tenants', async () => {
  const server = cluster.nodes.find((node) => held.get(node)!.tenants.length > 0)!;
  const { tenants } = held.get(server)!;
  const others = TENANTS.filter((tenantId) => !tenants.includes(tenantId));
  server.pause();
  try {
    const waiting = event(tenants[0]!);
    let status: number | null = null;
    void waiting.then((answered) => (status = answered));
    while (status === null) expect(await answers(others, 1)).toEqual(READ_AND_WRITTEN);
    expect(status).toBe(503);
    expect(await answers(others, 5)).toEqual(READ_AND_WRITTEN);
  } finally {
    server.resume();
  }
  await expect.poll(() => event(tenants[0]!)).toBe(201);
});
