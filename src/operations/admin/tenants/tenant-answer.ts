import type { AdminTenant } from '../../../domain/admin.ts';
import type { TenantRow } from '../../../postgres/tenant-rows.ts';
import type { TenantRefusal } from '../../../postgres/tenants.ts';

/** A tenant as the admin operations show it. */
export const tenantAnswer = ({ id, customerId, name, status, created, updated }: TenantRow): AdminTenant => ({
  id,
  customerId,
  name,
  status,
  created: created.toISOString(),
  updated: updated.toISOString(),
});

const REFUSALS: Record<TenantRefusal, string> = {
  taken: 'Another tenant has this customerId',
  unknown: 'There is no tenant with this ID',
};

/** The same, or why nothing was done. */
export const tenantOutcome = (outcome: TenantRow | TenantRefusal): AdminTenant | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : tenantAnswer(outcome);
