import type { LiveListeners } from '../../src/redis/live-streams.ts';

/** Somebody who listens to everything of some tenants. */
export const everybodyOf = (...tenantNos: number[]): LiveListeners[] =>
  tenantNos.map((tenantNo) => ({ tenantNo, users: null, ranks: true }));
