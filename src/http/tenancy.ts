import { AppError } from '../errors.ts';
import type { Caller, Operation, Tenant } from '../operations/operation.ts';
import { KeyRefusal } from './key-refusal.ts';

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
 * operations, required otherwise. An application key holds in the tenant it was made under, and an admin key of one
 * tenant in that: they are refused with any other Tenant-ID, whether there is such a tenant or not, and are not for what
 * is the organisation's own.
 */
export function createTenantResolver(tenants: TenantLookup): ResolveTenant {
  return ({ scope, tenantId, caller }) => {
    const { tenantNo, prefix } = caller;
    if (scope === 'organisation' && tenantNo !== null)
      throw new KeyRefusal('tenant', { prefix, message: 'The API key is for one tenant, not for the organisation' });
    if (scope !== 'tenant') return tenants.default();
    const tenant = tenants.multiTenancy() ? named(tenants, tenantId) : tenants.default();
    if (tenantNo !== null && tenantNo !== tenant?.no)
      throw new KeyRefusal('tenant', { prefix, message: 'The API key belongs to another tenant' });
    if (tenant === undefined) throw new AppError('unprocessable', 'The Tenant-ID header names no tenant');
    return tenant;
  };
}

function named(tenants: TenantLookup, tenantId: string | null): Tenant | undefined {
  if (tenantId === null) throw new AppError('unprocessable', 'The Tenant-ID header is required');
  return tenants.byCustomerId(tenantId);
}
