import { AppError } from '../errors.ts';
import { withCauses } from '../network-errors.ts';
import { isPostgresFull, isPostgresOutage } from '../postgres/transaction.ts';
import { isRedisFull, isRedisOutage } from '../redis/outage.ts';

/**
 * Whether an error or one of its causes says that Redis or Postgres cannot serve now. Such errors are answered 503 with
 * Retry-After; every other error that is not an `AppError` is a fault.
 */
export function isUnavailable(error: unknown): boolean {
  for (const one of withCauses(error)) if (isRedisOutage(one) || isPostgresOutage(one)) return true;
  return false;
}

/** The server that refused a write because it is full; `null` for any other error. The server has stored nothing of the write. */
export function fullServer(error: unknown): 'redis' | 'postgres' | null {
  for (const one of withCauses(error)) {
    if (isRedisFull(one)) return 'redis';
    if (isPostgresFull(one)) return 'postgres';
  }
  return null;
}

const FULL = {
  redis: 'Redis has reached its memory limit (maxmemory), so nothing can be written. Reads still work.',
  postgres: 'The disk of Postgres is full, so this cannot be stored. Events are still accepted.',
} as const;

/** The answer to an error of `isUnavailable`. */
export function unavailableAnswer(error: unknown): AppError {
  const server = fullServer(error);
  if (server === null) return new AppError('unavailable', 'The service is not available at the moment');
  return new AppError('storage_full', FULL[server]);
}
