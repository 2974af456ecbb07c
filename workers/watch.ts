import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LogThrottle } from '../src/log/log-throttle.ts';
import type { Persister } from '../src/engine/persist/persister.ts';
import { StuckShard } from '../src/engine/persist/stuck-shard.ts';
import { SHARD_NUMBERS } from '../src/redis/keys.ts';
import { waitingMs } from '../src/redis/outbox.ts';
import { BehindLog } from './behind-log.ts';

const INTERVAL_MS = 1000;
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
}

/**
 * The backstop behind the wake-ups: once a second it looks at the oldest entry of every shard and stores what is
 * overdue, whatever became of its wake-up. Eight small reads in one round trip; a job scheduler would cost more
 * and fail together with the queue that it is to back. It also complains, every 10 s, about shards that are late
 * or stand still. Returns a function that ends it and waits for what is under way.
 */
export function watchOutbox({ redis, persister, log, ending }: WatchOptions): () => Promise<void> {
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
  // The first look takes everything: the wake-ups of a process that died may hang on the job that died with it.
  let overdueMs = 0;
  const look = async (): Promise<void> => {
    const waits = await waitingMs(redis, SHARD_NUMBERS);
    for (const [shard, waiting] of waits.entries()) {
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
  };

  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  const tick = async (): Promise<void> => {
    await look().catch((error: unknown) => complain(-1, { err: error }, 'the outbox cannot be watched'));
    if (!ended) timer = setTimeout(() => void (ticking = tick()), INTERVAL_MS);
  };
  let ticking = tick();
  return async () => {
    ended = true;
    clearTimeout(timer);
    await ticking;
    await Promise.all(underWay.values());
  };
}
