import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../processes.ts';
import type { Random } from '../random.ts';
import type { RedisGroup, RedisGroups } from './redis-groups.ts';
import type { RedisNode } from './redis-node.ts';

/** What is to be hit. */
export interface Target {
  groups: RedisGroups;
  group: RedisGroup;
  random: Random;
}

/**
 * Something that goes wrong in one group. Resolves when Laurel can serve all tenants again by its own doing, the Sentinels' included;
 * what is still broken then is mended afterwards.
 */
export type GroupFault = (target: Target) => Promise<void>;

/** Shorter than after what a Sentinel takes a Redis for gone. */
const MOMENT_MS = { min: 50, max: 600 };
/** How long replicas are cut off before more goes wrong, beyond the time in which an answer waits for one of them. */
const CUT_MS = { min: 0, max: 1_500 };
const AWAY_MS = { min: 500, max: 2_500 };
/** Of each key that is written for a replica's first copy, so that this takes some seconds. */
const SLOW_SYNC_US = 5_000;

const pick = (random: Random, { min, max }: { min: number; max: number }): Promise<unknown> =>
  sleep(random.whole(min, max));

/** Kills the master; resolves when another one is there. */
async function killMaster({ groups, group }: Target, master: RedisNode): Promise<void> {
  await master.kill();
  await groups.tookOver(group, master);
}

/** Nothing goes from the master to those replicas, nor back. */
function cutReplication(master: RedisNode, replicas: readonly RedisNode[]): void {
  const ports = new Set(replicas.map(({ port }) => port));
  master.proxy.sever((peer) => peer.kind === 'replica' && peer.port !== null && ports.has(peer.port));
}

/** By name; a round draws one of them. */
export const GROUP_FAULTS: Record<string, GroupFault> = {
  'kill the master': async (target) => killMaster(target, (await target.groups.roles(target.group)).master),
  "kill the master in the middle of a replica's sync": async (target) => {
    const { master, replicas } = await target.groups.roles(target.group);
    const empty = target.random.pick(replicas);
    await master.command('CONFIG', 'SET', 'rdb-key-save-delay', SLOW_SYNC_US);
    await empty.kill();
    await empty.lose();
    await empty.start(master.port);
    await eventually('a sync is under way', async () => (await empty.replication('master_sync_in_progress')) === '1');
    await pick(target.random, MOMENT_MS);
    await killMaster(target, master);
  },
  'cut the replication, then kill the master': async (target) => {
    const { master, replicas } = await target.groups.roles(target.group);
    cutReplication(master, replicas);
    await pick(target.random, CUT_MS);
    await killMaster(target, master);
  },
  'cut one replica off, then kill the master': async (target) => {
    const { master, replicas } = await target.groups.roles(target.group);
    cutReplication(master, [target.random.pick(replicas)]);
    await pick(target.random, CUT_MS);
    await killMaster(target, master);
  },
  'a replica takes over': ({ groups, group }) => groups.takeOver(group),
  'a stale replica takes over': async ({ groups, group, random }) => {
    const { master, replicas } = await groups.roles(group);
    cutReplication(master, replicas);
    await pick(random, CUT_MS);
    await groups.takeOver(group);
  },
  'pause the master for a moment': async ({ groups, group, random }) => {
    const { master } = await groups.roles(group);
    master.pause();
    await pick(random, MOMENT_MS);
    master.resume();
  },
  'pause the master until another one took over': async ({ groups, group, random }) => {
    const { master } = await groups.roles(group);
    master.pause();
    await groups.tookOver(group, master);
    await pick(random, MOMENT_MS);
    master.resume();
  },
  'part Laurel from the master': async ({ groups, group, random }) => {
    const { master } = await groups.roles(group);
    master.proxy.sever(({ kind }) => kind === 'client');
    await pick(random, AWAY_MS);
    master.proxy.mend();
  },
  'part the master from replicas and Sentinels': async ({ groups, group }) => {
    const { master } = await groups.roles(group);
    master.proxy.sever(({ kind }) => kind !== 'client');
    await groups.tookOver(group, master);
  },
  'part the master from everybody': async ({ groups, group }) => {
    const { master } = await groups.roles(group);
    master.proxy.sever(() => true);
    await groups.tookOver(group, master);
  },
  'cut every connection to the master': async ({ groups, group }) => {
    (await groups.roles(group)).master.proxy.cutClients();
  },
  'lose the master and its disk for good': async (target) => {
    const { master } = await target.groups.roles(target.group);
    await killMaster(target, master);
    await master.lose();
  },
  'kill a replica': async ({ groups, group, random }) => random.pick((await groups.roles(group)).replicas).kill(),
  'kill all replicas': async ({ groups, group, random }) => {
    const { master, replicas } = await groups.roles(group);
    for (const replica of replicas) await replica.kill();
    await pick(random, AWAY_MS);
    await replicas[0]!.start(master.port);
  },
  'kill a whole group': async ({ groups, group, random }) => {
    const { master, replicas } = await groups.roles(group);
    for (const node of group.nodes) await node.kill();
    await pick(random, AWAY_MS);
    await master.start(null);
    for (const replica of replicas) await replica.start(master.port);
  },
};
