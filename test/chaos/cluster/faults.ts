import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { RedisCluster, RedisGroup } from './redis-cluster.ts';

/** The target of a fault. */
export interface Target {
  cluster: RedisCluster;
  group: RedisGroup;
  random: Random;
}

/**
 * A fault in one group. Resolves when Laurel and the cluster serve all tenants again without help; the suite repairs what is
 * still broken afterwards.
 */
export type GroupFault = (target: Target) => Promise<void>;

/** Shorter than the nodes' failure timeout. */
const MOMENT_MS = { min: 50, max: 600 };
/** How long replicas are cut off before the next fault, beyond the time that an answer waits for one of them. */
const CUT_MS = { min: 0, max: 1_500 };
const AWAY_MS = { min: 500, max: 2_500 };
const pick = (random: Random, { min, max }: { min: number; max: number }): Promise<unknown> =>
  sleep(random.whole(min, max));

/** Kills the master; resolves when there is another one with a replica. */
async function killMaster({ cluster, group }: Target, master: ClusterNode): Promise<void> {
  await master.kill();
  await cluster.tookOver(group, master);
  if (group.nodes.length === 2) await master.start();
}

/** Blocks all traffic between the master and those replicas. */
function cutReplication(master: ClusterNode, replicas: readonly ClusterNode[]): void {
  const ports = new Set(replicas.map(({ port }) => port));
  master.proxy.sever((peer) => peer.kind === 'replica' && peer.port !== null && ports.has(peer.port));
}

/** By name; a round draws one of them. */
export const GROUP_FAULTS: Record<string, GroupFault> = {
  'kill the master': async (target) => killMaster(target, (await target.cluster.roles(target.group)).master),
  'cut the replication, then kill the master': async (target) => {
    const { master, replicas } = await target.cluster.roles(target.group);
    cutReplication(master, replicas);
    await pick(target.random, CUT_MS);
    await killMaster(target, master);
  },
  'a replica takes over': ({ cluster, group }) => cluster.takeOver(group),
  'a replica takes over by force': ({ cluster, group }) => cluster.takeOver(group, 'by force'),
  'half of the slots move to another master': async ({ cluster, group, random }) => {
    const others = cluster.groups.filter((each) => each !== group);
    if (cluster.movesSlots) await cluster.moveSlots(group, random.pick(others));
  },
  'pause the master for a moment': async ({ cluster, group, random }) => {
    const { master } = await cluster.roles(group);
    master.pause();
    await pick(random, MOMENT_MS);
    master.resume();
  },
  'pause the master until another one took over': async ({ cluster, group, random }) => {
    const { master } = await cluster.roles(group);
    master.pause();
    await cluster.tookOver(group, master);
    await pick(random, MOMENT_MS);
    master.resume();
  },
  'part Laurel from the master': async ({ cluster, group, random }) => {
    const { master } = await cluster.roles(group);
    master.proxy.sever(({ kind }) => kind === 'client');
    await pick(random, AWAY_MS);
    master.proxy.mend();
  },
  'cut every connection to the master': async ({ cluster, group }) => {
    (await cluster.roles(group)).master.proxy.cutClients();
  },
  'lose the master and its disk for good': async ({ cluster, group }) => {
    const { master } = await cluster.roles(group);
    await master.kill();
    await cluster.tookOver(group, master);
    await master.lose();
    // The new master accepts writes once it has a replica.
    if (group.nodes.length === 2) await cluster.mend();
  },
  'kill all replicas': async ({ cluster, group, random }) => {
    const { replicas } = await cluster.roles(group);
    for (const replica of replicas) await replica.kill();
    await pick(random, AWAY_MS);
    await replicas[0]!.start();
  },
  'kill a whole group': async ({ cluster, group, random }) => {
    const { master, replicas } = await cluster.roles(group);
    for (const node of group.nodes) await node.kill();
    await pick(random, AWAY_MS);
    await master.start();
    for (const replica of replicas) await replica.start();
  },
};
