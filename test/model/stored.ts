import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Persister } from '../../src/engine/persist/persister.ts';
import { knownParts } from '../../src/redis/parts.ts';

/**
 * Resolves when all that happened to a tenant is in Postgres. Polls without a pause, since nothing else happens meanwhile.
 */
export const stored = async (redis: Redis, pool: Pool, tenantNo: number): Promise<void> =>
  void (await Promise.all(
    knownParts(redis, tenantNo).map(({ shard }) => new Persister({ redis, pool }).drain(shard, AbortSignal.abort())),
  ));
