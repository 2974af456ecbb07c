import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { isPersisted } from '../persisted/persisted.ts';

/** Something in Redis that is not what Postgres says. */
export interface Difference {
  /** The Redis key. */
  key: string;
  /** The member, field or user in it; '' for the whole. */
  part: string;
  redis: string;
  postgres: string;
}

/** A value that looked different, and how to read both sides of it again; null: nothing is there. */
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

/** Thrown when Postgres does not follow: nothing can be compared then. */
export class NotStored extends Error {}

/** Resolves when Postgres holds what the outboxes of some shards held at the call. Throws NotStored after half a minute. */
export async function stored({ redis, pool, shards }: Servers): Promise<void> {
  const reached = await Promise.all(shards.map((shard) => isPersisted({ redis, pool }, shard, PATIENCE)));
  if (reached.includes(false)) throw new NotStored('The outbox is not being stored: is a worker running?');
}

/**
 * The suspects that are really different, events or not: one side stood still while Postgres caught up with it. What
 * changes all the time is looked at several times, and counts as the same if it never stands still.
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
