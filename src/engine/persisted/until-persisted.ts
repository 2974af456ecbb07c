import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import { shardOf } from '../../redis/keys.ts';
import { isPersisted } from './persisted.ts';

const PATIENCE = { stillMs: 10_000, movingMs: 30_000 };

/**
 * Resolves when Postgres holds what was written for a tenant before the call. 503 if nothing moves for 10 s, or it takes
 * more than 30 s.
 */
export async function untilPersisted({ redis, pool }: { redis: Redis; pool: Pool }, tenantNo: number): Promise<void> {
  if (await isPersisted({ redis, pool }, shardOf(tenantNo), PATIENCE)) return;
  throw new AppError('unavailable', 'What was written before is not stored yet; try again in a moment.');
}
