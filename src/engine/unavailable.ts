import { withCauses } from '../network-errors.ts';
import { isPostgresOutage } from '../postgres/transaction.ts';
import { isRedisOutage } from '../redis/outage.ts';

/**
 * True for an error, or one with such a cause, that says that Redis or Postgres is away or cannot serve now: answered 503
 * with Retry-After, so that a client tries again. Everything else that is not an `AppError` is a fault.
 */
export function isUnavailable(error: unknown): boolean {
  for (const one of withCauses(error)) if (isRedisOutage(one) || isPostgresOutage(one)) return true;
  return false;
}
