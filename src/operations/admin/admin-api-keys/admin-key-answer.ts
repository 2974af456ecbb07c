import type { AdminKey } from '../../../domain/admin.ts';
import type { AdminKeyRow } from '../../../postgres/admin-key-rows.ts';
import type { AdminKeyRefusal } from '../../../postgres/admin-keys.ts';

/** An admin key as the operations show it. */
export const adminKeyAnswer = ({ id, prefix, name, status, created, lastUsed }: AdminKeyRow): AdminKey => ({
  id,
  prefix,
  name,
  status,
  created: created.toISOString(),
  lastUsed: lastUsed === null ? null : lastUsed.toISOString(),
});

/** Why the last active key stays. */
export const LAST_KEY = 'This is the last active admin key: create or activate another one first';

const REFUSALS: Record<AdminKeyRefusal, string> = {
  unknown: 'There is no admin key with this ID',
  last: LAST_KEY,
};

/** The same, or why nothing was done. */
export const adminKeyOutcome = (outcome: AdminKeyRow | AdminKeyRefusal): AdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : adminKeyAnswer(outcome);
