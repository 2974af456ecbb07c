import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Persister } from '../../src/engine/persist/persister.ts';
import { onlyPart } from '../stack/only-part.ts';

/**
 * Resolves when all that happened to a tenant is in Postgres. Polls without a pause, since nothing else happens meanwhile.
 */
export const stored = async (redis: Redis, pool: Pool, tenantNo: number): Promise<void> =>
  void (await new Persister({ redis, pool }).drain(onlyPart(tenantNo).shard, AbortSignal.abort()));
