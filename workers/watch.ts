import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type Persister, StuckShard } from '../src/engine/persist/persister.ts';
import { onServer } from '../src/redis/endpoints.ts';
import { isElsewhere } from '../src/redis/outage.ts';
import { waitingMs } from '../src/redis/outbox.ts';
import type { SignalKind, Signals } from '../src/redis/signals.ts';
import { rounds, type Rounds } from '../src/pacing/rounds.ts';
import { type Log, LogThrottle } from '../src/telemetry/log.ts';

/** A shard is behind if an entry has waited this long, and has caught up if none has waited for `CAUGHT_UP_MS`. */
const BEHIND_MS = 5_000;
const CAUGHT_UP_MS = 1_000;

export class BehindLog {
  private readonly log: Log;
  /** Shard → since when it is behind (`performance.now()`). */
  private readonly since = new Map<number, number>();

  constructor(log: Log) {
    this.log = log;
  }

  note(shard: number, waitingMs: number | null): void {
    const nowMs = performance.now();
    const since = this.since.get(shard);
    if (since === undefined && waitingMs !== null && waitingMs > BEHIND_MS) {
      this.since.set(shard, nowMs - waitingMs);
      this.log.warn({ shard, waitingMs }, 'storing events in Postgres falls behind; nothing is lost');
    } else if (since !== undefined && (waitingMs ?? 0) < CAUGHT_UP_MS) {
      this.since.delete(shard);
      this.log.info({ shard, seconds: Math.round((nowMs - since) / 1000) }, 'storing events in Postgres has caught up');
    }
  }
}

/** Delay of a check after a signal, and interval of checks while something waits. */
const LOOK_MS = 1_000;
/** Interval of checks without signals. */
const BACKSTOP_MS = 5_000;
/** An entry that waited this long missed its wake-up; normally storing takes up to half of this. */
const OVERDUE_MS = 1000;
const LATE_MS = 10_000;
const REPEAT_MS = 10_000;
/** What waits in a shard, by the signal that announces it. */
const WAITING = { outbox: 'events', batches: 'batches' } as const satisfies Partial<Record<SignalKind, string>>;

export interface Watched {
  /** From `createRedis`. */
  redis: Redis;
  signals: Signals;
  log: Logger;
  backstopMs?: number;
}

/**
 * The backstop behind BullMQ's wake-ups: checks shards for work whose wake-up was lost, at the start, soon after a signal,
 * while anything waits, and otherwise at the backstop of signals. Servers are checked independently, so that an unreachable
 * one does not delay the others. `look` resolves to whether anything waits in the shards. If it rejects, it is repeated.
 */
export function watchShards(
  { redis, signals, log, kind, backstopMs = BACKSTOP_MS }: Watched & { kind: keyof typeof WAITING },
  look: (shards: readonly number[]) => Promise<boolean>,
): { close(): Promise<void> } {
  const logThrottle = new LogThrottle(REPEAT_MS);
  const anyWait = (shards: readonly number[]): Promise<boolean> =>
    look(shards).catch((error: unknown) => {
      // A shard that the cluster is moving is checked on its new node.
      if (!isElsewhere(error as Error))
        logThrottle.log('', () =>
          log.warn({ err: error }, `Redis does not say which ${WAITING[kind]} wait; it is asked again`),
        );
      return true;
    });
  const servers = new Set<Rounds>();
  const closing: Promise<void>[] = [];
  const stopServers = onServer(redis, (endpoint, gone) => {
    const server = rounds(async () => ((await anyWait(endpoint.shards)) ? LOOK_MS : Infinity));
    servers.add(server);
    gone.addEventListener('abort', () => {
      servers.delete(server);
      closing.push(server.close());
    });
  });
  const stopListening = signals.listen(
    kind,
    (message) => {
      for (const server of servers) server.wake(message === null ? 0 : LOOK_MS);
    },
    backstopMs,
  );
  return {
    close: async () => {
      stopListening();
      stopServers();
      await Promise.all([...closing, ...Array.from(servers, (server) => server.close())]);
    },
  };
}

interface WatchOptions extends Watched {
  persister: Persister;
  ending: AbortSignal;
}

/**
 * Watches the outboxes (`watchShards`) and stores overdue entries, whatever happened to their wake-ups. A check takes two
 * commands for all shards of a server. Every 10 s it also logs shards that are behind or stuck. `close` waits for work in
 * progress.
 */
export function watchOutbox({ persister, ending, ...watched }: WatchOptions): { close(): Promise<void> } {
  const { log } = watched;
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
          'PERSISTING IS BLOCKED: nothing is lost, but an entry cannot be stored',
        );
      } else {
        complain(shard, { err: error, waitingMs: waiting }, 'persisting fails');
      }
    }
  };

  const underWay = new Map<number, Promise<void>>();
  const looked = new Set<number>();
  const look = async (shards: readonly number[]): Promise<boolean> => {
    const waits = await waitingMs(watched.redis, shards);
    for (const [index, waiting] of waits.entries()) {
      const shard = shards[index]!;
      // The first check stores everything, because the wake-ups of a dead process may belong to a job that died with it.
      const overdueMs = looked.has(shard) ? OVERDUE_MS : 0;
      looked.add(shard);
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
    return waits.some((waiting) => waiting !== null);
  };
  const watch = watchShards({ ...watched, kind: 'outbox' }, look);
  return {
    close: async () => {
      await watch.close();
      await Promise.all(underWay.values());
    },
  };
}
