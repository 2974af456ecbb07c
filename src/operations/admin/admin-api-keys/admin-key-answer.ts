import type { AdminKey, CreatedAdminKey } from '../../../domain/admin.ts';
import type { AdminKeyRow } from '../../../postgres/admin-key-rows.ts';
import type { AdminKeyRefusal, CreatedAdminKey as CreatedAdminKeyRow } from '../../../postgres/admin-keys.ts';

/** An admin key as the operations show it. */
export const adminKeyAnswer = ({
  id,
  prefix,
  name,
  status,
  access,
  tenantId,
  created,
  lastUsed,
}: AdminKeyRow): AdminKey => ({
  id,
  prefix,
  name,
  status,
  access,
  tenantId,
  created: created.toISOString(),
  lastUsed: lastUsed === null ? null : lastUsed.toISOString(),
});

/** Why the last key that can make others stays. */
export const LAST_KEY = 'This is the last active admin key of full access: create or activate another one first';

const REFUSALS: Record<AdminKeyRefusal, string> = {
  unknown: 'There is no admin key with this ID',
  'no tenant': 'tenantId: there is no active tenant with this ID',
  last: LAST_KEY,
};

/** The same, or why nothing was done. */
export const adminKeyOutcome = (outcome: AdminKeyRow | AdminKeyRefusal): AdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : adminKeyAnswer(outcome);

/** The same of a key that was made now, with its secret. */
export const createdKeyOutcome = (outcome: CreatedAdminKeyRow | AdminKeyRefusal): CreatedAdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : { ...adminKeyAnswer(outcome), key: outcome.key };
