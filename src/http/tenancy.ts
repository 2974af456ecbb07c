import { AppError } from '../errors.ts';
import type { Caller, Operation, Tenant } from '../operations/operation.ts';
import { KeyRefusal } from './key-refusal.ts';

/** The tenants as they are held in memory: other processes change them, and their news takes a moment. */
export interface TenantLookup {
  multiTenancy(): boolean;
  /** The organisation's own: number 0. */
  default(): Tenant;
  /** An active tenant by the client's own ID. */
  byCustomerId(id: string): Tenant | undefined;
  /** Resolves when everything is held that was committed before the call, as far as can be known. 503. */
  confirm(): Promise<void>;
}

interface TenantCall {
  scope: Operation['scope'];
  tenantId: string | null;
  caller: Caller;
}

/** Finds the tenant that a call is about: at once where what is held admits the call. Throws, or rejects with, 422, 403 or 503. */
export type ResolveTenant = (call: TenantCall) => Tenant | Promise<Tenant>;

/**
 * The rule of the `Tenant-ID` header: ignored where there is one tenant only and for the organisation's own
 * operations, required otherwise. An application key holds in the tenant it was made under, and an admin key of one
 * tenant in that: they are refused with any other Tenant-ID, whether there is such a tenant or not, and are not for what
 * is the organisation's own.
 *
 * Before a header is ignored, and before a call is refused here, what is held is confirmed: a client to which another
 * frontend answered that multi-tenancy is on, or that a tenant was made, must not have its call applied to the
 * organisation's own tenant, nor refused. It takes as long whether there is a tenant of that name or not.
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

/** The tenant by what is held; undefined: the call names none. */
function named(tenants: TenantLookup, { tenantId }: TenantCall): Tenant | undefined {
  if (!tenants.multiTenancy()) return tenants.default();
  return tenantId === null ? undefined : tenants.byCustomerId(tenantId);
}

/** The tenant, of what is held now. Throws 422 or 403. */
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
