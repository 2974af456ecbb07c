import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle } from '../src/log/log-throttle.ts';
import type { Persister } from '../src/engine/persist/persister.ts';
import { StuckShard } from '../src/engine/persist/stuck-shard.ts';
import { Arrivals } from '../src/redis/arrivals.ts';
import { connectionOf, endpointsOf, onPlaced } from '../src/redis/endpoints.ts';
import { outboxKey, SHARD_NUMBERS } from '../src/redis/keys.ts';
import { waitingMs } from '../src/redis/outbox.ts';
import { BehindLog } from './behind-log.ts';

const INTERVAL_MS = 1000;
/** How long one read of the outboxes blocks while they are empty. */
const BLOCK_MS = 10_000;
/** An entry that has waited so long was not woken for: normally it takes a tenth of this. */
const OVERDUE_MS = 1000;
const LATE_MS = 10_000;
/** The same line about a shard is not logged again sooner. */
const REPEAT_MS = 10_000;

interface WatchOptions {
  redis: Redis;
  persister: Persister;
  log: Logger;
  ending: AbortSignal;
  /** See `BLOCK_MS`. */
  blockMs?: number;
}

/**
 * The backstop behind the wake-ups: while anything waits it looks once a second at the oldest entry of every shard
 * and stores what is overdue, whatever became of its wake-up. Two commands for all shards of a server; a job scheduler would cost
 * more and fail together with the queue that it is to back. While nothing waits it does not look: a blocking read ends with
 * the first entry, which is looked at a second later. It also complains, every 10 s, about shards that are late or stand
 * still. Returns a function that ends it and waits for what is under way.
 */
export function watchOutbox({ redis, persister, log, ending, blockMs = BLOCK_MS }: WatchOptions): () => Promise<void> {
  const behind = new BehindLog(log);
  const logThrottle = new LogThrottle(REPEAT_MS);
  const complain = (shard: number, detail: object, message: string): void =>
    logThrottle.log(shard, () => log.error({ shard, ...detail }, message));

  const rescue = async (shard: number, waiting: number): Promise<void> => {
    try {
      await persister.drain(shard, ending);
    } catch (error) {
      if (error instanceof StuckShard) {
        complain(
          shard,
          { streamId: error.streamId, err: error },
          'PERSISTING STANDS STILL: nothing is lost, but an entry cannot be stored',
        );
      } else {
        complain(shard, { err: error, waitingMs: waiting }, 'persisting fails');
      }
    }
  };

  const underWay = new Map<number, Promise<void>>();
  const ended = new AbortController();
  const watchServer = async (server: Redis): Promise<void> => {
    const ownShards = (): number[] => SHARD_NUMBERS.filter((shard) => connectionOf(redis, shard) === server);
    // The first look takes everything: the wake-ups of a process that died may hang on the job that died with it.
    let overdueMs = 0;
    /** Whether anything waits. */
    const look = async (): Promise<boolean> => {
      const shards = ownShards();
      const waits = await waitingMs(redis, shards);
      for (const [index, waiting] of waits.entries()) {
        const shard = shards[index]!;
        behind.note(shard, persister.gaveWay(shard) ? null : waiting);
        if (waiting === null || waiting < overdueMs) continue;
        if (waiting > LATE_MS && !persister.gaveWay(shard))
          complain(shard, { waitingMs: waiting }, 'persisting is behind');
        if (persister.isAtWork(shard)) continue;
        underWay.set(
          shard,
          rescue(shard, waiting).finally(() => underWay.delete(shard)),
        );
      }
      overdueMs = OVERDUE_MS;
      return waits.some((waiting) => waiting !== null);
    };
    const arrivals = new Arrivals(server, () => ownShards().map(outboxKey));
    const stopFollowing = onPlaced(redis, () => arrivals.again());
    while (!ended.signal.aborted) {
      const waits = await look().catch((error: unknown) => {
        complain(-1, { err: error }, 'the outbox cannot be watched');
        return true;
      });
      if (!waits) await arrivals.wait(blockMs, ended.signal);
      await sleep(INTERVAL_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
    stopFollowing();
    arrivals.close();
  };
  // Each server by itself: one that is away holds up none of the others.
  const running = Promise.all(endpointsOf(redis).map((endpoint) => watchServer(endpoint.redis)));
  return async () => {
    ended.abort();
    await running;
    await Promise.all(underWay.values());
  };
}
