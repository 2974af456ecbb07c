import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { slotOfShard } from '../../src/redis/cluster-layout.ts';
import { freePort } from '../../src/local/free-ports.ts';
import { OwnRedis, type Secured } from '../engine/rebuild/own-redis.ts';
import type { Part } from './left-behind.ts';

/** Whether the whole run uses clusters: `TEST_REDIS=cluster npm test` uses three masters instead of one Redis. */
export const isClusterRun = (): boolean => process.env['TEST_REDIS'] === 'cluster';

/** A Valkey of version 9 or later, which moves slots atomically: `VALKEY9`, or on the PATH; null if there is none. */
export function findValkey9(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'valkey-server'));
  for (const program of [process.env['VALKEY9'] ?? '', ...folders]) {
    if (program === '' || !existsSync(program)) continue;
    const version = /v=(\d+)/.exec(String(execFileSync(program, ['--version'])))?.[1];
    if (Number(version) >= 9) return program;
  }
  return null;
}

const SLOTS = 16_384;
/**
 * How long a node may be silent before the others consider it failed. Only a replica that takes over needs a short time, but a
 * busy machine must not make others fail. Without
 * replicas it is never reached: nodes go on calling a restarted node failed for twice this time, and two of three failed ones
 * stop the third.
 */
const NODE_TIMEOUT_MS = { withReplicas: 5_000, without: 300_000 };
const LOOK_MS = 50;

export interface OwnClusterOptions {
  masters?: number;
  /** Per master. */
  replicas?: number;
  program?: string;
  secured?: Secured | null;
  settings?: Readonly<Record<string, string>>;
}

/** A cluster of a test, whose nodes can be killed, paused, added and given slots. */
export class OwnCluster {
  /** The initial masters, then their replicas, alternating. */
  readonly nodes: OwnRedis[] = [];
  private readonly options: OwnClusterOptions;

  private constructor(options: OwnClusterOptions) {
    this.options = options;
  }

  static async start(options: OwnClusterOptions = {}): Promise<OwnCluster> {
    const { masters = 3, replicas = 0 } = options;
    const cluster = new OwnCluster(options);
    try {
      await Promise.all(Array.from({ length: masters * (1 + replicas) }, () => cluster.startNode()));
      await Promise.all(
        cluster.nodes.slice(0, masters).map(async (node, index) => {
          const [first, end] = [index, index + 1].map((part) => Math.round((SLOTS * part) / masters));
          await node.command('CLUSTER', 'ADDSLOTSRANGE', first!, end! - 1);
          await node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
        }),
      );
      await cluster.untilAgreed();
      for (const [index, replica] of cluster.nodes.slice(masters).entries())
        await replica.command('CLUSTER', 'REPLICATE', await idOf(cluster.nodes[index % masters]!));
      await cluster.untilReplicated(replicas);
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  /** The value of REDIS_URL. */
  get url(): string {
    return this.nodes.map(({ url }) => url).join(',');
  }

  /** Starts another master, without slots. */
  async add(): Promise<OwnRedis> {
    const node = await this.startNode();
    await this.untilAgreed();
    return node;
  }

  /** Starts another replica. Resolves when it has the master's data. */
  async addReplica(master: OwnRedis): Promise<OwnRedis> {
    const node = await this.add();
    await node.command('CLUSTER', 'REPLICATE', await idOf(master));
    await until(async () => /state=online/.test(String(await master.command('INFO', 'replication'))));
    return node;
  }

  /** The master that serves a shard, according to a node. */
  masterOf(shard: number, asked?: OwnRedis): Promise<OwnRedis> {
    return this.masterOfSlot(slotOfShard(shard), asked);
  }

  async masterOfSlot(slot: number, asked = this.nodes[0]!): Promise<OwnRedis> {
    const ranges = (await asked.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    const [, , [, port]] = ranges.find(([first, last]) => first <= slot && slot <= last)!;
    return this.nodes.find((node) => node.port === port)!;
  }

  /** Moves slots to another master atomically (Valkey 9). Resolves when it has them. */
  async migrate(from: OwnRedis, to: OwnRedis, ranges: readonly (readonly [number, number])[]): Promise<void> {
    const target = await idOf(to);
    await from.command('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...ranges.flat(), 'NODE', target);
    const slot = ranges[0]![0];
    await until(async () => {
      const served = (await from.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
      return served.some(([first, last, [, port]]) => first <= slot && slot <= last && port === to.port);
    });
  }

  /** Resolves when each master has this many replicas in sync. */
  private async untilReplicated(replicas: number): Promise<void> {
    const { masters = 3 } = this.options;
    for (const master of this.nodes.slice(0, masters))
      await until(async () => {
        const info = String(await master.command('INFO', 'replication'));
        return (info.match(/state=online/g) ?? []).length >= replicas;
      });
    await this.untilAgreed();
  }

  private async startNode(): Promise<OwnRedis> {
    const { program, secured = null, settings, replicas = 0 } = this.options;
    const nodeTimeoutMs = replicas > 0 ? NODE_TIMEOUT_MS.withReplicas : NODE_TIMEOUT_MS.without;
    const node = await OwnRedis.start(
      {
        'cluster-enabled': 'yes',
        'cluster-port': String(await freePort()),
        'cluster-node-timeout': String(nodeTimeoutMs),
        'cluster-require-full-coverage': 'no',
        'cluster-replica-validity-factor': '0',
        // A master without slots stays one; as a replica it would give its master another replication ID.
        'cluster-allow-replica-migration': 'no',
        ...(secured !== null && { 'tls-cluster': 'yes' }),
        ...settings,
      },
      secured,
      program,
    );
    this.nodes.push(node);
    return node;
  }

  /** Introduces a node to the first one, and so to all. */
  private async meet(node: OwnRedis): Promise<void> {
    const busPort = String((await node.command('CONFIG', 'GET', 'cluster-port')) as string[]).split(',')[1]!;
    await this.nodes[0]!.command('CLUSTER', 'MEET', '127.0.0.1', node.port, busPort);
  }

  /** Resolves when every node knows all nodes and who serves each slot. */
  private async untilAgreed(): Promise<void> {
    // Without full coverage a node says "ok" before it has heard from the masters of all slots.
    const expected = ['cluster_state:ok', `cluster_slots_assigned:${SLOTS}`];
    const ids = await Promise.all(this.nodes.map(idOf));
    for (const node of this.nodes)
      await until(async () => {
        // A handshake that takes longer than the node timeout is given up, so it begins again.
        const first = await knownBy(this.nodes[0]!);
        for (const [index, id] of ids.entries()) if (!first.has(id)) await this.meet(this.nodes[index]!);
        const known = await knownBy(node);
        const lines = String(await node.command('CLUSTER', 'INFO')).split('\r\n');
        return ids.every((id) => known.has(id)) && expected.every((line) => lines.includes(line));
      });
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }
}

const idOf = async (node: OwnRedis): Promise<string> => String(await node.command('CLUSTER', 'MYID'));

/** The IDs of the nodes that a node knows. During a handshake it knows another node only by a provisional ID. */
async function knownBy(node: OwnRedis): Promise<Set<string>> {
  const lines = String(await node.command('CLUSTER', 'NODES')).split('\n');
  return new Set(lines.filter((line) => !line.includes('handshake')).map((line) => line.split(' ')[0]!));
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(LOOK_MS);
}

/** A cluster of three masters for a test stack. */
export async function clusterPart(): Promise<Part> {
  const cluster = await OwnCluster.start({ settings: { appendonly: 'no' } });
  return { url: cluster.url, close: () => cluster.close() };
}
