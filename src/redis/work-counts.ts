import type { Redis } from 'ioredis';
import { FAILED_WORK_KEY, POSTGRES_FULL_KEY } from './keys.ts';

/** Counts deliveries by outcome for the metrics, which every frontend exports. Writes in batches. */
export class OutcomeCounts {
  private readonly redis: Redis;
  private readonly key: string;
  private counted = new Map<string, number>();
  private timer: NodeJS.Timeout | null = null;

  /** @param key the hash with the counts */
  constructor(redis: Redis, key: string) {
    this.redis = redis;
    this.key = key;
  }

  note(outcome: string): void {
    this.counted.set(outcome, (this.counted.get(outcome) ?? 0) + 1);
    this.timer ??= setTimeout(() => void this.flush(), WITHIN_MS).unref();
  }

  /** Writes the counts so far. They are lost if Redis is unreachable. */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { counted } = this;
    this.counted = new Map();
    const added = [...counted].map(([outcome, count]) => this.redis.hincrby(this.key, outcome, count));
    await Promise.all(added).catch(() => undefined);
  }
}

const WITHIN_MS = 1_000;

/** The counts of a hash by outcome; outcomes that never occurred are missing. Rebuilds of Redis keep the counts. */
export async function outcomeCounts(redis: Redis, key: string): Promise<Map<string, number>> {
  const counts = Object.entries(await redis.hgetall(key));
  return new Map(counts.map(([outcome, count]) => [outcome, Number(count)]));
}

/** Counts a failure of scheduled work for the metrics, which every frontend exports. */
export async function countFailedWork(redis: Redis, kind: string): Promise<void> {
  await redis.hincrby(FAILED_WORK_KEY, kind, 1);
}

/** Failures per kind of scheduled work; kinds without failures are missing. Rebuilds of Redis keep the counts. */
export async function failedWork(redis: Redis): Promise<Map<string, number>> {
  const counts = Object.entries(await redis.hgetall(FAILED_WORK_KEY));
  return new Map(counts.map(([kind, count]) => [kind, Number(count)]));
}

/** How long a report of a full disk counts. Workers try again within seconds while entries wait. */
const FULL_MS = 10_000;

/** Reports to all frontends that Postgres refused a write because its disk is full. Never rejects. */
export async function notePostgresFull(redis: Redis): Promise<void> {
  await redis.set(POSTGRES_FULL_KEY, '1', 'PX', FULL_MS).catch(() => undefined);
}

/** Whether the disk of Postgres was full for a write in the last 10 s, of a worker or a request. Throws errors of Redis. */
export const isPostgresNotedFull = async (redis: Redis): Promise<boolean> =>
  (await redis.exists(POSTGRES_FULL_KEY)) === 1;
