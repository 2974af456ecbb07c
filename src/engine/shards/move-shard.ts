import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { inTurn } from '../../postgres/exclusively.ts';
import { noteLeftNowhere, readPlacement, type PlacedShard } from '../../postgres/shards/placement.ts';
import { redisReady } from '../../redis/client.ts';
import { endpointsOf, type Endpoint } from '../../redis/endpoints.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { StartError } from '../../start-error.ts';
import { either, ForeignRedis, REBUILD_LOCK, refuse } from '../availability/accept.ts';
import { foreignMark, inspect } from '../availability/inspection.ts';
import { NOTICED_MS } from '../rebuild/rebuild.ts';
import { clearShard } from './clear-shard.ts';
import { relocate, type MoveProgress, type RelocateOptions } from './relocate.ts';

/** The shard cannot be moved, for a reason that a person can mend; no request was answered 503 for it. */
export class MoveRefused extends StartError {
  constructor(message: string) {
    super(`${message} Nothing was moved.`);
    this.name = 'MoveRefused';
  }
}

export interface MoveOptions extends Omit<RelocateOptions, 'source' | 'target' | 'report' | 'ending'> {
  /** Of all servers that REDIS_URL names. */
  redis: Redis;
  /** The name of the Redis that the shard is to be on. */
  to: string;
  onProgress?: (progress: MoveProgress) => void | Promise<void>;
  /** Aborted: the move breaks off. */
  ending?: AbortSignal;
}

/** What a move came to. */
export interface Moved {
  /** Where the shard was; null: it was where it should be, and nothing was done but to remove what an earlier move left behind. */
  from: string | null;
  /** How long the shard was shut, ms. */
  shutMs: number;
}

/** How long a server may take to be connected to. */
const CONNECT_MS = 5_000;

/** Held by the process that moves a shard, until what is left behind is removed as well. */
const MOVE_LOCK = 0x6c61_736d; // 'lasm'

/**
 * Moves a shard to another Redis: shuts it, stores its outbox, carries what only Redis holds, fills the other Redis from
 * Postgres, places it there in Postgres (which all processes follow) and opens it; what is left on the first Redis is removed
 * last. Moves take turns. Where it breaks off before the shard is placed, everything is still where it was, and the next
 * process that finds the shard shut rebuilds it there; after that, it is rebuilt where it was placed. The same again goes on.
 * Throws MoveRefused, PostgresIsOlder and ForeignRedis before anything is done; then as `relocate` and `clearShard`.
 */
export function moveShard(options: MoveOptions): Promise<Moved> {
  const { pool, shard, ending } = options;
  const work = async (lost: AbortSignal): Promise<Moved> => {
    const placed = (await readPlacement(pool)).find((each) => each.shard === shard);
    if (placed === undefined) throw new MoveRefused('No shard has a place yet: start Laurel first.');
    return new Move(options, placed, either(lost, ending)).run();
  };
  return inTurn(pool, MOVE_LOCK, { work, ending });
}

class Move {
  private readonly options: MoveOptions;
  private readonly placed: PlacedShard;
  private readonly ending: AbortSignal;

  constructor(options: MoveOptions, placed: PlacedShard, ending: AbortSignal) {
    this.options = options;
    this.placed = placed;
    this.ending = ending;
  }

  async run(): Promise<Moved> {
    const { pool, shard, to } = this.options;
    const { endpoint, leftOn } = this.placed;
    const target = this.endpoint(to);
    // One that REDIS_URL does not name any more has nothing that matters.
    if (leftOn !== null && leftOn !== to && this.known.has(leftOn)) await this.clearSource(await this.reached(leftOn));
    if (leftOn !== null && endpoint === to) await noteLeftNowhere(pool, shard);
    if (endpoint === to) return { from: null, shutMs: 0 };
    const source = await this.reached(endpoint);
    await this.reached(to);
    await this.refuseUnfit(source, target);
    await clearShard({ ...this.options, redis: target.redis, onRemoved: this.removed('clear target') });

    const work = (lost: AbortSignal): Promise<number> => {
      const ending = either(lost, this.ending);
      return relocate({ ...this.options, source, target, ending, report: (progress) => this.report(progress, ending) });
    };
    const shutMs = await inTurn(pool, REBUILD_LOCK, { work, ending: this.ending });
    // Who waits for the answers of a batch that was processed before finds them until then.
    await sleep(NOTICED_MS, undefined, { signal: this.ending });
    await this.clearSource(source);
    await noteLeftNowhere(pool, shard);
    return { from: endpoint, shutMs };
  }

  private get known(): ReadonlyMap<string, Endpoint> {
    return new Map(endpointsOf(this.options.redis).map((endpoint) => [endpoint.name, endpoint]));
  }

  private endpoint(name: string): Endpoint {
    const endpoint = this.known.get(name);
    if (endpoint !== undefined) return endpoint;
    const names = [...this.known.keys()].map((each) => `"${each}"`).join(', ');
    throw new MoveRefused(`REDIS_URL does not name a Redis "${name}"; it names ${names}.`);
  }

  /** Throws MoveRefused where it does not answer, or is a replica. */
  private async reached(name: string): Promise<Endpoint> {
    const endpoint = this.endpoint(name);
    try {
      await redisReady(endpoint.redis, CONNECT_MS);
      await readRedisProcessId(endpoint.redis);
      return endpoint;
    } catch (error) {
      throw new MoveRefused(`The Redis "${name}" cannot be used: ${(error as Error).message}`);
    }
  }

  private async refuseUnfit(source: Endpoint, target: Endpoint): Promise<void> {
    const { pool, shard } = this.options;
    const here = await inspect(source.redis, pool, [shard]);
    const there = await inspect(target.redis, pool, SHARD_NUMBERS);
    if (here.redisProcessId === there.redisProcessId)
      throw new MoveRefused(`"${source.name}" and "${target.name}" are one server.`);
    const foreign = foreignMark(there);
    if (foreign !== null) throw new ForeignRedis(foreign);
    refuse(here);
  }

  private clearSource({ redis }: Endpoint): Promise<void> {
    return clearShard({ ...this.options, redis, onRemoved: this.removed('clear source') });
  }

  private removed(step: 'clear target' | 'clear source'): (keys: number) => Promise<void> {
    return (done) => this.report({ step, done, total: null }, this.ending);
  }

  private async report(progress: MoveProgress, ending: AbortSignal): Promise<void> {
    ending.throwIfAborted();
    await this.options.onProgress?.(progress);
  }
}
