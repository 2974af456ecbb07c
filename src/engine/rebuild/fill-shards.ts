import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { estimateRows } from '../../postgres/rebuild/read-users.ts';
import { tenantsOfShards } from '../../postgres/rebuild/tenants-of-shards.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { Generations } from './derived-keys.ts';
import { loadIdempotencyKeys } from './load-idempotency-keys.ts';
import { loadUsers } from './load-users.ts';
import type { Loaders } from './loader.ts';
import { loadQuarantine } from './quarantined-keys.ts';
import type { OnUnreadable } from './unreadable.ts';

/**
 * Fills some shards that hold nothing of it yet with what Postgres does: users, used idempotency keys, what waits in quarantine.
 * Resolves when Redis has it all. Errors are those of Redis, of Postgres and of `Loader`.
 */
export async function fillShards({
  redis,
  pool,
  loaders,
  report,
  onUnreadable,
}: {
  /** The Redis that holds them. */
  redis: Redis;
  pool: Pool;
  loaders: Loaders;
  report: (progress: { step: 'users' | 'idempotency keys'; done: number; total: number | null }) => Promise<void>;
  onUnreadable: OnUnreadable;
}): Promise<void> {
  const tenants = loaders.size === SHARD_NUMBERS.length ? null : await tenantsOfShards(pool, [...loaders.keys()]);
  const generations = new Generations();
  const users = tenants === null ? await estimateRows(pool, 'users') : null;
  await loadUsers({
    pool,
    tenants,
    loaders,
    generations,
    onUnreadable,
    onLoaded: (done) => report({ step: 'users', done, total: users && Math.max(users, done) }),
  });
  await loadIdempotencyKeys({
    pool,
    redis,
    tenants,
    loaders,
    generations,
    onLoaded: (done) => report({ step: 'idempotency keys', done, total: null }),
  });
  await loadQuarantine(pool, loaders);
}
