import type { ChainableCommander, Redis } from 'ioredis';
import { REPLICATED_CHANNEL, replicatedKey } from './keys.ts';

/** Writes a key on the master and its replicas, without an entry in the master's log. */
const WRITE_REPLICATED = "redis.set_repl(redis.REPL_REPLICA) redis.call('SET', KEYS[1], '')";

/**
 * Adds a command that Redis replicates but does not log, so that WAIT has something to wait for. `shard`: in a cluster, where a
 * published message is not replicated, one that the master serves; otherwise null.
 */
const follow = (pipeline: ChainableCommander, shard: number | null): ChainableCommander =>
  shard === null ? pipeline.publish(REPLICATED_CHANNEL, '') : pipeline.eval(WRITE_REPLICATED, 1, replicatedKey(shard));

/** A master's report about its replicas. */
export interface Attached {
  /** The master's replication offset in bytes. */
  offset: number;
  /** The offset that each replica reported, by `<host>:<port>`. */
  replicas: ReadonlyMap<string, number>;
}

/**
 * The replicas of a master that must hold each write: all that keep up. One of several is not enough, because Sentinels may
 * promote another one, which would lose the write.
 *
 * New replicas join automatically, as do lagging ones that catch up. None leaves automatically: if one is missing, the caller
 * must first make sure that the master is still the master; see `ReplicaAcknowledgement`.
 */
export class InSyncReplicas {
  private readonly members: Set<string>;
  /** Attached, but too far behind to wait for. */
  private readonly lagging: Set<string>;
  /** The master's offset one round earlier. */
  private offset: number;

  private constructor({ offset, replicas }: Attached) {
    const names = [...replicas.keys()];
    this.members = new Set(names.filter((name) => replicas.get(name)! >= offset));
    this.lagging = new Set(names.filter((name) => !this.members.has(name)));
    this.offset = offset;
  }

  /**
   * The replicas that receive the master's earlier writes within `timeoutMs`; `null` if none does. `shard`: see `follow`. Throws
   * errors of Redis.
   */
  static async find(redis: Redis, shard: number | null, timeoutMs: number): Promise<InSyncReplicas | null> {
    const { replicas } = attachedOf(await redis.call('ROLE'));
    if (replicas.size === 0) return null;
    const before = follow(redis.pipeline(), shard).call('ROLE');
    const results = await before.wait(replicas.size, timeoutMs).call('ROLE').exec();
    const [, atFirst, , inTheEnd] = (results ?? []).map(([error, reply]) => {
      if (error !== null) throw error;
      return reply;
    });
    const { offset } = attachedOf(atFirst);
    const found = new InSyncReplicas({ offset, replicas: attachedOf(inTheEnd).replicas });
    return found.members.size === 0 ? null : found;
  }

  get count(): number {
    return this.members.size;
  }

  /**
   * Waits until as many replicas have the master's earlier writes, then returns the offset that all members have. Returns the
   * master's report if that takes longer than `waitMs` or a member is missing. The offsets decide because WAIT may count other
   * replicas. Rounds may run on several connections at once. Throws errors of Redis.
   */
  async held(redis: Redis, shard: number | null, waitMs: number): Promise<number | Attached> {
    const { members } = this;
    const asked = members.size;
    const round = follow(redis.pipeline(), shard).wait(asked, waitMs).call('ROLE');
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

  /** Members that the master no longer reports or whose offset is below `offset`. */
  behind({ replicas }: Attached, offset: number): string[] {
    return [...this.members].filter((name) => (replicas.get(name) ?? -1) < offset);
  }

  /** Members that the master no longer reports. Throws errors of Redis. */
  async missing(redis: Redis): Promise<string[]> {
    return this.behind(attachedOf(await redis.call('ROLE')), 0);
  }

  private join(name: string): void {
    this.members.add(name);
    this.lagging.delete(name);
  }
}

/** The replication offset in a master's reply to ROLE; `null` from other servers. */
export function offsetOf(role: unknown): number | null {
  const [kind, offset] = role as [string, number];
  return kind === 'master' ? Number(offset) : null;
}

/** Parses a reply to ROLE. A replica reports no replicas. */
function attachedOf(role: unknown): Attached {
  const [kind, offset, replicas] = role as [string, number, [string, string, string][]];
  if (kind !== 'master') return { offset: 0, replicas: new Map() };
  return {
    offset: Number(offset),
    replicas: new Map(replicas.map(([host, port, has]) => [`${host}:${port}`, Number(has)])),
  };
}
