import { AppError } from '../errors.ts';
import type { Caller, Operation, Tenant } from '../operations/operation.ts';

/** The tenants as they stand, in memory. */
export interface TenantLookup {
  multiTenancy(): boolean;
  /** The organisation's own: number 0. */
  default(): Tenant;
  /** An active tenant by the client's own ID. */
  byCustomerId(id: string): Tenant | undefined;
}

/** Finds the tenant that a call is about. Throws 422 or 403. */
export type ResolveTenant = (call: { scope: Operation['scope']; tenantId: string | null; caller: Caller }) => Tenant;

/**
 * The rule of the `Tenant-ID` header: ignored where there is one tenant only and for the organisation's own
 * operations, required otherwise; an application key holds in the tenant it was made under.
 */
export function createTenantResolver(tenants: TenantLookup): ResolveTenant {
  return ({ scope, tenantId, caller }) => {
    if (scope !== 'tenant') return tenants.default();
    const tenant = tenants.multiTenancy() ? named(tenants, tenantId) : tenants.default();
    if (caller.tenantNo !== null && caller.tenantNo !== tenant.no)
      throw new AppError('forbidden', 'The API key belongs to another tenant');
    return tenant;
  };
}

function named(tenants: TenantLookup, tenantId: string | null): Tenant {
  if (tenantId === null) throw new AppError('unprocessable', 'The Tenant-ID header is required');
  const tenant = tenants.byCustomerId(tenantId);
  if (!tenant) throw new AppError('unprocessable', 'The Tenant-ID header names no tenant');
  return tenant;
}
