import { AppError } from '../../errors.ts';
import type { Caller, Operation, Tenant } from '../../operations/operation.ts';
import { KeyRefusal } from './key-refusal.ts';

/** Tenants in memory. Changes by other processes arrive with a short delay. */
export interface TenantLookup {
  multiTenancy(): boolean;
  default(): Tenant;
  /** An active tenant by the client's own ID. */
  byCustomerId(id: string): Tenant | undefined;
  /** Resolves when everything committed before the call is in memory, as far as can be determined. Rejects with 503. */
  confirm(): Promise<void>;
}

interface TenantCall {
  scope: Operation['scope'];
  tenantId: string | null;
  caller: Caller;
}

/** Finds the tenant of a call, synchronously if the data in memory allows the call. Throws or rejects with 422, 403 or 503. */
export type ResolveTenant = (call: TenantCall) => Tenant | Promise<Tenant>;

/**
 * The rule of the `Tenant-ID` header. It is ignored if there is only one tenant and for operations on the organisation, and required otherwise. An
 * application key is valid only in the tenant in which it was created, an admin key restricted to a tenant only in that one. They are refused with
 * any other Tenant-ID, whether such a tenant exists or not; for operations on the organisation, restricted keys are refused.
 *
 * Before it ignores a header or refuses a call, the resolver confirms the data in memory. Otherwise, a client that just enabled multi-tenancy or
 * created a tenant through another frontend might have its call refused, or applied to the organisation's own tenant. The response time
 * does not depend on whether the tenant exists.
 */
export function createTenantResolver(tenants: TenantLookup): ResolveTenant {
  return (call) => {
    const { tenantNo, prefix } = call.caller;
    if (call.scope === 'organisation' && tenantNo !== null)
      throw new KeyRefusal('tenant', { prefix, message: 'The API key is for one tenant, not for the organisation' });
    if (call.scope !== 'tenant') return tenants.default();
    const isIgnored = call.tenantId !== null && !tenants.multiTenancy();
    const tenant = isIgnored ? undefined : named(tenants, call);
    if (tenant !== undefined && (tenantNo === null || tenantNo === tenant.no)) return tenant;
    return tenants.confirm().then(() => confirmed(tenants, call));
  };
}

/** The tenant that a header names by the data in memory; the organisation's own if it names none. Nothing is checked. */
export const tenantOfHeader = (tenants: TenantLookup, tenantId: string | null): Tenant =>
  (tenantId === null || !tenants.multiTenancy() ? undefined : tenants.byCustomerId(tenantId)) ?? tenants.default();

/** The tenant by the data in memory; `undefined` if the call names none. */
function named(tenants: TenantLookup, { tenantId }: TenantCall): Tenant | undefined {
  if (!tenants.multiTenancy()) return tenants.default();
  return tenantId === null ? undefined : tenants.byCustomerId(tenantId);
}

/** The tenant by confirmed data. Throws 422 or 403. */
function confirmed(tenants: TenantLookup, call: TenantCall): Tenant {
  const { tenantNo, prefix } = call.caller;
  if (tenants.multiTenancy() && call.tenantId === null)
    throw new AppError('tenant_required', 'The Tenant-ID header is required');
  const tenant = named(tenants, call);
  if (tenantNo !== null && tenantNo !== tenant?.no)
    throw new KeyRefusal('tenant', { prefix, message: 'The API key belongs to another tenant' });
  if (tenant === undefined) throw new AppError('tenant_required', 'The Tenant-ID header names no tenant');
  return tenant;
}
