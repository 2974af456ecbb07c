import { join } from 'node:path';
import { findRedisProgram } from '../../../src/local/redis-server.ts';
import { findValkey9 } from '../../stack/own-cluster.ts';
import { eventually } from '../processes.ts';
import { ClusterNode } from './cluster-node.ts';

/** The number of masters, and of replicas of each. */
export interface Arrangement {
  masters: number;
  replicas: number;
}

const SLOTS = 16_384;
const WHOLE_MS = 120_000;

/** `3x1`: 3 masters with a replica each. Throws if the text is no arrangement. A cluster has at least 3 masters. */
export function parseArrangement(text: string): Arrangement {
  const [, masters, replicas] = /^([3-9])x([1-9])$/.exec(text) ?? [];
  if (masters === undefined)
    throw new Error(`"${text}" is no arrangement like 3x1: masters (3 or more), and replicas of each.`);
  return { masters: Number(masters), replicas: Number(replicas) };
}

/** A master and its replicas. */
export interface RedisGroup {
  name: string;
  nodes: readonly ClusterNode[];
}

/** A cluster as docs/operating/servers.md describes it: Valkey 9, which moves slots atomically, if it is installed. */
export class RedisCluster {
  readonly groups: readonly RedisGroup[];
  /** Whether slots can move while they are in use. */
  readonly movesSlots: boolean;

  private constructor(groups: readonly RedisGroup[], movesSlots: boolean) {
    this.groups = groups;
    this.movesSlots = movesSlots;
  }

  /** Resolves when all nodes know each other, and all replicas are in sync. */
  static async start(folder: string, { masters, replicas }: Arrangement): Promise<RedisCluster> {
    const valkey9 = findValkey9();
    const program = valkey9 ?? findRedisProgram();
    if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
    const groups = await Promise.all(
      Array.from({ length: masters }, async (_, no): Promise<RedisGroup> => {
        const name = `group-${no + 1}`;
        const nodes = await Promise.all(
          Array.from({ length: 1 + replicas }, (__, n) => ClusterNode.start(join(folder, `${name}-${n}`), program)),
        );
        return { name, nodes };
      }),
    );
    const cluster = new RedisCluster(groups, valkey9 !== null);
    await cluster.form();
    return cluster;
  }

  /** The address in Laurel's configuration. */
  get url(): string {
    return this.nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(',');
  }

  /** The master of a group, as the other nodes see it, and the rest of the group. */
  async roles(group: RedisGroup): Promise<{ master: ClusterNode; replicas: ClusterNode[] }> {
    const masters = await this.masters(group);
    const master = group.nodes.find(({ port }) => masters.includes(port));
    if (master === undefined) throw new Error(`${group.name} has no master.`);
    return { master, replicas: group.nodes.filter((node) => node !== master) };
  }

  /** The port of the master that serves a slot. */
  async masterPort(slot: number): Promise<number> {
    const slots = (await this.nodes[0]!.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    return slots.find(([first, last]) => first <= slot && slot <= last)![2][1];
  }

  /** Resolves when the other nodes name another master. */
  async tookOver(group: RedisGroup, former: ClusterNode): Promise<void> {
    await eventually(`another master of ${group.name}`, async () => {
      const masters = await this.masters(group);
      return group.nodes.some(({ port }) => port !== former.port && masters.includes(port));
    });
  }

  /** Promotes a replica while the master is healthy; resolves when that is done. */
  async takeOver(group: RedisGroup, how: 'in agreement' | 'by force' = 'in agreement'): Promise<void> {
    const { master, replicas } = await this.roles(group);
    await eventually('a takeover begins', async () => {
      const words = how === 'by force' ? ['FORCE'] : [];
      return (await replicas[0]!.command('CLUSTER', 'FAILOVER', ...words).catch(() => '')) === 'OK';
    });
    await this.tookOver(group, master);
  }

  /** Moves half of a group's slots to another group under load; resolves when that group has them. */
  async moveSlots(from: RedisGroup, to: RedisGroup): Promise<void> {
    const source = (await this.roles(from)).master;
    const target = (await this.roles(to)).master;
    const [first, last] = (await rangesOf(source)).toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]))[0]!;
    const middle = Math.floor((first + last) / 2);
    await source.command('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', first, middle, 'NODE', await target.id());
    await eventually('the slots are moved', async () =>
      (await rangesOf(target)).some(([low, high]) => low <= first && middle <= high),
    );
  }

  /** Repairs all that a fault broke: the network, stopped or dead processes, lost data. Resolves when everything works. */
  async mend(): Promise<void> {
    for (const node of this.nodes) {
      node.proxy.mend();
      node.resume();
    }
    for (const group of this.groups) {
      for (const node of group.nodes) if (!node.isRunning) await node.start();
      for (const node of group.nodes) if (await node.isStranger()) await this.join(group, node);
    }
    await this.whole();
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  private get nodes(): ClusterNode[] {
    return this.groups.flatMap(({ nodes }) => nodes);
  }

  /** The ports of the masters that have slots, according to the first node of another group that answers. */
  private async masters(group: RedisGroup): Promise<number[]> {
    const asked = this.groups.filter((each) => each !== group).flatMap(({ nodes }) => nodes);
    for (const node of asked) {
      const slots = (await node.command('CLUSTER', 'SLOTS').catch(() => null)) as
        | [number, number, [string, number]][]
        | null;
      if (slots !== null) return slots.map(([, , [, port]]) => port);
    }
    return [];
  }

  private async form(): Promise<void> {
    const size = SLOTS / this.groups.length;
    for (const [no, { nodes }] of this.groups.entries()) {
      const [first, last] = [Math.round(no * size), Math.round((no + 1) * size) - 1];
      await nodes[0]!.command('CLUSTER', 'ADDSLOTSRANGE', first, last);
      await nodes[0]!.command('CLUSTER', 'SET-CONFIG-EPOCH', no + 1);
    }
    const [first, ...others] = this.nodes;
    const ids = await Promise.all(this.nodes.map((node) => node.id()));
    await eventually('all nodes know one another', async () => {
      // A handshake that takes longer than the node timeout is given up, so it begins again.
      const known = await first!.knows();
      for (const [at, node] of others.entries()) if (!known.has(ids[at + 1]!)) await first!.meet(node);
      const all = await Promise.all(this.nodes.map((node) => node.knows()));
      return all.every((some) => ids.every((id) => some.has(id)));
    });
    for (const { nodes } of this.groups)
      for (const replica of nodes.slice(1)) await replica.command('CLUSTER', 'REPLICATE', await nodes[0]!.id());
    await this.whole();
  }

  /** Has a node whose data was lost rejoin as a replica of its group. */
  private async join(group: RedisGroup, node: ClusterNode): Promise<void> {
    const { master } = await this.roles(group);
    await master.meet(node);
    const id = await master.id();
    await eventually(
      'a new node is taken',
      async () => (await node.command('CLUSTER', 'REPLICATE', id).catch(() => '')) === 'OK',
    );
  }

  /** A former master that returns becomes a replica. */
  private async whole(): Promise<void> {
    for (const group of this.groups)
      await eventually(
        `${group.name} is whole`,
        async () => {
          const roles = await this.roles(group).catch(() => null);
          if (roles === null) return false;
          const { master, replicas } = roles;
          const links = await Promise.all(replicas.map((replica) => replica.replication('master_link_status')));
          const infos = await Promise.all(group.nodes.map((node) => node.command('CLUSTER', 'INFO').catch(() => '')));
          return (
            (await master.replication('role')) === 'master' &&
            (await master.replication('connected_slaves')) === String(replicas.length) &&
            links.every((status) => status === 'up') &&
            infos.every((info) => /^cluster_state:ok\r\ncluster_slots_assigned:16384\r/m.test(String(info)))
          );
        },
        WHOLE_MS,
      );
  }
}

/** The slot ranges that a master says it serves. */
async function rangesOf(master: ClusterNode): Promise<[number, number][]> {
  const slots = (await master.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  return slots.flatMap(([first, last, [, port]]) => (port === master.port ? [[first, last] as [number, number]] : []));
}
