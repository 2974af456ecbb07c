import { withCauses } from '../network-errors.ts';
import { isPostgresOutage } from '../postgres/transaction.ts';
import { isRedisOutage } from '../redis/outage.ts';

/**
 * Whether an error or one of its causes says that Redis or Postgres cannot serve now. Such errors are answered 503 with
 * Retry-After; every other error that is not an `AppError` is a fault.
 */
export function isUnavailable(error: unknown): boolean {
  for (const one of withCauses(error)) if (isRedisOutage(one) || isPostgresOutage(one)) return true;
  return false;
}
