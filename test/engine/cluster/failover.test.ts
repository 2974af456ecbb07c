import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { findValkey9, OwnCluster } from '../../stack/own-cluster.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import type { OwnRedis } from '../rebuild/own-redis.ts';
import { Load } from './load.ts';

// Three masters with a replica each, and REDIS_ACKNOWLEDGE=replica: a promoted replica has all acknowledged writes.

/** In the order of their numbers, which begin at 1. */
const TENANTS = ['one', 'two', 'three', 'four', 'five', 'six'];
const BEFORE_MS = 1_500;
/** Detection takes a node timeout and the election half a second and more; a busy machine takes longer for all of it. */
const MOST_MS = 60_000;

let cluster: OwnCluster;
let laurel: TestLaurel;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const tenantsOf = async (node: OwnRedis, asked: OwnRedis): Promise<string[]> => {
  const masters = await Promise.all(TENANTS.map((_, index) => cluster.masterOf(index + 1, asked)));
  return TENANTS.filter((_, index) => masters[index] === node);
};

/** The type of the packets that answer a ping on the cluster bus. */
const PONG = 1;

/**
 * Cuts a master off from the other nodes, but not from its replica's link and its clients: nobody reaches its bus, and it
 * hears no answer. Returns what undoes that.
 */
async function cutOff(victim: OwnRedis, others: readonly OwnRedis[]): Promise<() => Promise<void>> {
  const [, busPort] = (await victim.command('CONFIG', 'GET', 'cluster-port')) as string[];
  const proxy = new CuttingProxy(`redis://127.0.0.1:${busPort}`);
  const { port } = new URL(await proxy.listen());
  await victim.command('CONFIG', 'SET', 'cluster-announce-bus-port', port);
  const isKnown = async (): Promise<boolean> => {
    const seen = await Promise.all(others.map(async (node) => String(await node.command('CLUSTER', 'NODES'))));
    return seen.every((nodes) => nodes.includes(`:${victim.port}@${port}`));
  };
  await expect.poll(isKnown).toBe(true);
  proxy.close();
  await victim.command('DEBUG', 'DROP-CLUSTER-PACKET-FILTER', PONG);
  return async () => {
    await victim.command('DEBUG', 'DROP-CLUSTER-PACKET-FILTER', -1);
    await victim.command('CONFIG', 'SET', 'cluster-announce-bus-port', 0);
  };
}

describe.each([
  ['Redis', undefined],
  ['Valkey 9', findValkey9()],
] as const)('%s', (_, program) => {
  beforeEach(async ({ skip }) => {
    if (program === null) return skip('There is no Valkey 9: set VALKEY9 to its valkey-server, or put it on the PATH.');
    const settings = { 'enable-debug-command': 'local' };
    cluster = await OwnCluster.start({ replicas: 1, settings, ...(program !== undefined && { program }) });
    laurel = await startLaurel({ redisUrl: cluster.url, workers: true, acknowledgeMs: 1_000 });
    await addTenants(laurel, TENANTS);
  });
  afterEach(async () => {
    if (program === null) return;
    await laurel.close();
    await cluster.close();
  });

  test.each(['is killed', 'hangs', 'is cut off', 'is replaced by hand'])(
    'a master %s: loses nothing acknowledged, counts nothing twice, and other tenants see no 503',
    async (how) => {
      const [victim, , other] = cluster.nodes as [OwnRedis, OwnRedis, OwnRedis];
      const replica = cluster.nodes[3]!;
      const hit = await tenantsOf(victim, other);
      const others = TENANTS.filter((tenantId) => !hit.includes(tenantId));
      expect([hit.length > 0, others.length > 0]).toEqual([true, true]);
      const load = new Load(laurel, TENANTS);
      await pause(BEFORE_MS);
      let rejoin = async (): Promise<void> => undefined;
      if (how === 'is killed') await victim.kill();
      else if (how === 'hangs') victim.pause();
      else if (how === 'is cut off')
        rejoin = await cutOff(
          victim,
          cluster.nodes.filter((node) => node !== victim),
        );
      else await replica.command('CLUSTER', 'FAILOVER');
      await expect.poll(() => tenantsOf(replica, other), { timeout: MOST_MS }).toEqual(hit);
      const before = hit.map((tenantId) => load.acknowledged.get(tenantId)!);
      // The new master has no replica while the former one is away, so it accepts writes once that is back.
      if (how === 'is killed') await victim.start();
      else if (how === 'hangs') victim.resume();
      else await rejoin();
      const areServed = (): boolean => hit.every((tenantId, at) => load.acknowledged.get(tenantId)! > before[at]! + 5);
      await expect.poll(areServed, { timeout: MOST_MS }).toBe(true);
      await load.end();
      expect(others.map((tenantId) => load.refusals.get(tenantId))).toEqual(others.map(() => []));
      expect(load.longestMs(hit)).toBeLessThan(MOST_MS);
      expect(await load.differences()).toEqual([]);
    },
  );
});
