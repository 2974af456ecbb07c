import type { KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import type { Log } from '../telemetry/log.ts';
import { createLive, createServices, type Services } from '../engine/services.ts';
import type { ClockSkew } from '../redis/server-info.ts';
import { isConverting, knownParts } from '../redis/parts.ts';
import { orClose } from './core.ts';
import { createFrontendCore, type FrontendSettings } from './frontend-core.ts';
import type { FrontendMetrics } from './frontend-metrics.ts';

export interface Laurel {
  services: Services;
  metrics: FrontendMetrics;
  redis: Redis;
  pool: Pool;
  /** Whether Redis holds a tenant's data as Postgres does (`null`: any tenant's). */
  isReady(tenantNo: number | null): boolean;
  /** Whether the shards of all tenants are served. */
  isWhole(): boolean;
  /** Whether replicas acknowledge writes, or none has to. If not, writes are refused. */
  areReplicasThere(): boolean;
  /** Whether the backlog for Postgres is so large that events are refused. */
  isBacklogFull(): boolean;
  clockSkew: ClockSkew;
  /** A key for one purpose, derived from the installation's secret; the same in all processes. */
  keyFor(purpose: string): KeyObject;
  /** Sentences about functions that this process cannot serve although it is ready. */
  notices(): string[];
  /** `names` as of `countCredentialChange`; `null`: any may have changed. */
  onCredentialsChanged(drop: (names: readonly string[] | null) => void): void;
  /** Call this when nothing uses the services any longer. */
  close(): Promise<void>;
}

/** Connects, and creates the services of the operations. Rejects with nothing left open. */
export async function openLaurel(options: FrontendSettings & { log: Log }): Promise<Laurel> {
  const core = await createFrontendCore(options);
  const { redis, pool, guard, catalogs, changes, tenants, backlog, clockSkew, metrics } = core;
  const live = await orClose(core, async () => {
    const created = createLive(core);
    await changes.start();
    // From now on changes are noticed. This reads earlier ones.
    await Promise.all([tenants.refresh(), catalogs.load(0), backlog.measure()]);
    backlog.start();
    return created;
  });
  // A request about a user on a closed shard of a wide tenant is refused when it gets there.
  const isServed = (tenantNo: number): boolean =>
    !isConverting(redis, tenantNo) && knownParts(redis, tenantNo).some(({ shard }) => guard.isOpen(shard));
  return {
    services: createServices(core, live),
    metrics,
    redis,
    pool,
    isReady: (tenantNo) => (tenantNo === null ? tenants.numbers().some(isServed) : isServed(tenantNo)),
    isWhole: () => tenants.numbers().every(isServed),
    areReplicasThere: () => guard.areReplicasThere,
    isBacklogFull: () => backlog.exceeded(),
    clockSkew,
    keyFor: (purpose) => core.ids.keyFor(purpose),
    notices: () => guard.notices,
    onCredentialsChanged: (drop) =>
      void changes.listen({ credentialsChanged: drop, organisationChanged: () => drop(null) }),
    close: () => core.close(),
  };
}
