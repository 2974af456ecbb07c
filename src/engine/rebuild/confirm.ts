import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { isPersisted } from '../persisted/persisted.ts';

/** A value in Redis that differs from Postgres. */
export interface Difference {
  /** The Redis key. */
  key: string;
  /** The member, field or user; '' for the whole key. */
  part: string;
  redis: string;
  postgres: string;
}

/** A value that looked different, and how to read both sides again; they return null if there is no value. */
export interface Suspect {
  key: string;
  part: string;
  redis: () => Promise<string | null>;
  postgres: () => Promise<string | null>;
}

interface Servers {
  redis: Redis;
  pool: Pool;
  shards: readonly number[];
}

const PATIENCE = { stillMs: 30_000, movingMs: 30_000 };
const TRIES = 10;

/** Postgres does not store the outbox, so nothing can be compared. */
export class NotStored extends Error {}

/** Resolves when Postgres holds what the outboxes of some shards held when this was called. Throws NotStored after 30 s. */
export async function stored({ redis, pool, shards }: Servers): Promise<void> {
  const reached = await Promise.all(shards.map((shard) => isPersisted({ redis, pool }, shard, PATIENCE)));
  if (reached.includes(false)) throw new NotStored('The outbox is not being stored: is a worker running?');
}

/**
 * The suspects that really differ, even while events arrive: Redis did not change while Postgres caught up. A value that changes
 * all the time is read several times, and counts as equal if it never rests.
 */
export async function confirm(servers: Servers, suspects: readonly Suspect[]): Promise<Difference[]> {
  const found: Difference[] = [];
  let open = [...suspects];
  for (let tries = 0; open.length > 0 && tries < TRIES; tries += 1) {
    const before = await Promise.all(open.map((suspect) => suspect.redis()));
    await stored(servers);
    const again: Suspect[] = [];
    for (const [index, suspect] of open.entries()) {
      const wanted = await suspect.postgres();
      const now = await suspect.redis();
      if (now === wanted) continue;
      if (now !== before[index]) again.push(suspect);
      else found.push({ key: suspect.key, part: suspect.part, redis: now ?? 'nothing', postgres: wanted ?? 'nothing' });
    }
    open = again;
  }
  return found;
}
