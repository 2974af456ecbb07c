import type { ApplicationKey, CreatedApplicationKey } from '../../../domain/admin.ts';
import type {
  ApplicationKeyRow,
  CreatedApplicationKey as CreatedApplicationKeyRow,
} from '../../../postgres/application-keys.ts';

/** A key that was made now, with its secret; scope, end and limit are named where they are not those of any key. */
export const createdKeyAnswer = ({
  id,
  userId,
  key,
  prefix,
  scope,
  expiresMs,
  rateLimit,
}: CreatedApplicationKeyRow): CreatedApplicationKey => ({
  id,
  userId,
  key,
  prefix,
  ...(scope !== 'all' && { scope }),
  ...(expiresMs !== null && { expiresAt: new Date(expiresMs).toISOString() }),
  ...(rateLimit !== null && { rateLimit }),
});

/** A key as it is listed: without its secret. */
export const applicationKeyAnswer = ({ expires, created, lastUsed, ...key }: ApplicationKeyRow): ApplicationKey => ({
  ...key,
  expiresAt: expires?.toISOString() ?? null,
  created: created.toISOString(),
  lastUsed: lastUsed?.toISOString() ?? null,
});
