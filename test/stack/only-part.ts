import { SHARDS, type TenantPart } from '../../src/redis/keys.ts';

/** The only part of a tenant that is not wide. */
export const onlyPart = (tenantNo: number): TenantPart => ({ tenantNo, shard: tenantNo % SHARDS });
