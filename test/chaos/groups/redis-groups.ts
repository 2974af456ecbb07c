import { join } from 'node:path';
import { eventually } from '../processes.ts';
import { RedisNode } from './redis-node.ts';
import { Sentinels } from './sentinels.ts';

/** How many masters there are, and replicas of each. */
export interface Arrangement {
  masters: number;
  replicas: number;
}

const SENTINELS = 3;

/** `3x2`: 3 masters with 2 replicas each. Throws for what is none. */
export function parseArrangement(text: string): Arrangement {
  const [, masters, replicas] = /^([1-9])x([1-9])$/.exec(text) ?? [];
  if (masters === undefined) throw new Error(`"${text}" is no arrangement like 3x2: masters, and replicas of each.`);
  return { masters: Number(masters), replicas: Number(replicas) };
}

/** A master and its replicas, under the name by which the Sentinels and REDIS_URL know it. */
export interface RedisGroup {
  name: string;
  nodes: readonly RedisNode[];
}

/** Several Redis with replicas, watched by Sentinels, as docs/operating/servers.md describes it. */
export class RedisGroups {
  readonly groups: readonly RedisGroup[];
  private readonly sentinels: Sentinels;

  private constructor(groups: readonly RedisGroup[], sentinels: Sentinels) {
    this.groups = groups;
    this.sentinels = sentinels;
  }

  /** Resolves when all replicas hold what their masters do, and all Sentinels know all of them. */
  static async start(folder: string, { masters, replicas }: Arrangement): Promise<RedisGroups> {
    const groups = await Promise.all(
      Array.from({ length: masters }, async (_, no): Promise<RedisGroup> => {
        const name = `group-${no + 1}`;
        const nodes = [await RedisNode.start(join(folder, `${name}-0`), null)];
        for (let n = 1; n <= replicas; n += 1)
          nodes.push(await RedisNode.start(join(folder, `${name}-${n}`), nodes[0]!.port));
        return { name, nodes };
      }),
    );
    const watched = groups.map(({ name, nodes }) => ({ name, port: nodes[0]!.port }));
    const started = new RedisGroups(groups, await Sentinels.start(folder, watched, SENTINELS));
    await started.whole();
    return started;
  }

  /** As Laurel is given it. */
  get url(): string {
    const hosts = this.sentinels.ports.map((port) => `127.0.0.1:${port}`).join(',');
    return this.groups.map(({ name }) => `redis+sentinel://${hosts}/${name}`).join(',');
  }

  /** The master of a group, by the word of the first Sentinel, and the others. */
  async roles(group: RedisGroup): Promise<{ master: RedisNode; replicas: RedisNode[] }> {
    const [port] = await this.sentinels.masterPorts(group.name);
    const master = group.nodes.find((node) => node.port === port)!;
    return { master, replicas: group.nodes.filter((node) => node !== master) };
  }

  /** Resolves when all Sentinels say that another than this is the master. */
  async tookOver(group: RedisGroup, former: RedisNode): Promise<void> {
    await eventually(`another master of ${group.name}`, async () =>
      (await this.sentinels.masterPorts(group.name)).every((port) => port !== former.port),
    );
  }

  /** Has a replica take the place of the master, which is well; resolves when that is done. */
  async takeOver(group: RedisGroup): Promise<void> {
    const { master } = await this.roles(group);
    await eventually('a takeover begins', () => this.sentinels.takeOver(group.name));
    await this.tookOver(group, master);
  }

  /** Mends all that a fault broke: the network, processes that stand still or are gone. Resolves when all is whole. */
  async mend(): Promise<void> {
    for (const group of this.groups) {
      for (const node of group.nodes) {
        node.proxy.mend();
        node.resume();
      }
      const { master } = await this.roles(group);
      for (const node of group.nodes)
        if (!node.isRunning) await node.start(node === master || !master.isRunning ? null : master.port);
    }
    await this.whole();
  }

  async close(): Promise<void> {
    await this.sentinels.close();
    await Promise.all(this.groups.flatMap(({ nodes }) => nodes.map((node) => node.close())));
  }

  /** A former master that comes back is made a replica by the Sentinels, after some seconds. */
  private async whole(): Promise<void> {
    for (const group of this.groups)
      await eventually(
        `${group.name} is whole`,
        async () => {
          const ports = new Set(await this.sentinels.masterPorts(group.name));
          const { master, replicas } = await this.roles(group);
          const links = await Promise.all(replicas.map((replica) => replica.replication('master_link_status')));
          return (
            ports.size === 1 &&
            (await master.replication('role')) === 'master' &&
            links.every((status) => status === 'up') &&
            (await this.sentinels.seeAll(group.name, replicas.length))
          );
        },
        120_000,
      );
  }
}
