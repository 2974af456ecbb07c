import type { Redis } from 'ioredis';
import { REPLICATED_CHANNEL } from './keys.ts';

/** What a master says of its replicas. */
export interface Attached {
  /** Bytes of its history of writes. */
  offset: number;
  /** How far each replica said that it has it, by `<host>:<port>`. */
  replicas: ReadonlyMap<string, number>;
}

/**
 * The replicas of one master that have to have what is written: all that kept up. One of them alone is not enough while there are
 * several: Sentinels may make another one the master while this one lives, and what only the first had is lost.
 *
 * One that comes joins by itself, one that lagged behind when it has caught up. None leaves: who misses one has to find out
 * first that the master still is the master, see `ReplicaAcknowledgement`.
 */
export class InSyncReplicas {
  private readonly members: Set<string>;
  /** Attached, and too far behind to be waited for. */
  private readonly lagging: Set<string>;
  /** Where the master was a round ago. */
  private offset: number;

  private constructor({ offset, replicas }: Attached) {
    const names = [...replicas.keys()];
    this.members = new Set(names.filter((name) => replicas.get(name)! >= offset));
    this.lagging = new Set(names.filter((name) => !this.members.has(name)));
    this.offset = offset;
  }

  /** Those that have, within `timeoutMs`, what the master wrote before; null: none has. Errors of Redis. */
  static async find(redis: Redis, timeoutMs: number): Promise<InSyncReplicas | null> {
    const { replicas } = attachedOf(await redis.call('ROLE'));
    if (replicas.size === 0) return null;
    const before = redis.pipeline().publish(REPLICATED_CHANNEL, '').call('ROLE');
    const results = await before.wait(replicas.size, timeoutMs).call('ROLE').exec();
    const [, atFirst, , inTheEnd] = (results ?? []).map(([error, reply]) => {
      if (error !== null) throw error;
      return reply;
    });
    const { offset } = attachedOf(atFirst);
    const found = new InSyncReplicas({ offset, replicas: attachedOf(inTheEnd).replicas });
    return found.members.size === 0 ? null : found;
  }

  /** How many they are. */
  get count(): number {
    return this.members.size;
  }

  /**
   * How far all of them have the master's history of writes, once as many replicas as they are have what the master wrote before.
   * Where not so many have it within `waitMs`, or one of them is missing: what the master says then. The offset is what counts:
   * those that were waited for may be others. Rounds may be under way on several connections at once. Errors of Redis.
   */
  async held(redis: Redis, waitMs: number): Promise<number | Attached> {
    const { members } = this;
    const asked = members.size;
    const round = redis.pipeline().publish(REPLICATED_CHANNEL, '').wait(asked, waitMs).call('ROLE');
    const [, waited, role] = ((await round.exec()) ?? []).map(([error, reply]) => {
      if (error !== null) throw error;
      return reply;
    });
    const attached = attachedOf(role);
    const { offset, replicas } = attached;
    if (Number(waited) < asked || [...members].some((name) => !replicas.has(name))) return attached;
    const held = Math.min(...[...members].map((name) => replicas.get(name)!));
    for (const [name, has] of replicas) if (!this.lagging.has(name) || has >= this.offset) this.join(name);
    this.offset = offset;
    return held;
  }

  /** Those of them that a master does not name any more, or that have less than `offset`. */
  behind({ replicas }: Attached, offset: number): string[] {
    return [...this.members].filter((name) => (replicas.get(name) ?? -1) < offset);
  }

  /** Those of them that the master does not name any more. Errors of Redis. */
  async missing(redis: Redis): Promise<string[]> {
    return this.behind(attachedOf(await redis.call('ROLE')), 0);
  }

  private join(name: string): void {
    this.members.add(name);
    this.lagging.delete(name);
  }
}

/** How far a master's history of writes goes, by what it answered to ROLE; null: it is none. */
export function offsetOf(role: unknown): number | null {
  const [kind, offset] = role as [string, number];
  return kind === 'master' ? Number(offset) : null;
}

/** What ROLE answers; of a replica: no replicas. */
function attachedOf(role: unknown): Attached {
  const [kind, offset, replicas] = role as [string, number, [string, string, string][]];
  if (kind !== 'master') return { offset: 0, replicas: new Map() };
  return {
    offset: Number(offset),
    replicas: new Map(replicas.map(([host, port, has]) => [`${host}:${port}`, Number(has)])),
  };
}
