import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import type { Log } from '../telemetry/log.ts';
import type { Services } from '../operations/services.ts';
import type { ClockSkew } from '../redis/server-info.ts';
import { shardOf } from '../redis/keys.ts';
import { orClose } from './core.ts';
import { createLive, createServices } from './features.ts';
import { createFrontendCore, type FrontendSettings } from './frontend-core.ts';
import type { FrontendMetrics } from './frontend-metrics.ts';

export interface Laurel {
  services: Services;
  metrics: FrontendMetrics;
  redis: Redis;
  pool: Pool;
  /**
   * Whether Redis is known to hold what Postgres does of a tenant, null: of any tenant: no request may be answered from it
   * otherwise.
   */
  isReady(tenantNo: number | null): boolean;
  /** Whether the shards of all tenants are served. */
  isWhole(): boolean;
  /** Whether replicas acknowledge what is written, or none has to: no write is taken otherwise. */
  areReplicasThere(): boolean;
  /** Whether so much waits for Postgres that events are refused. */
  isBacklogFull(): boolean;
  clockSkew: ClockSkew;
  /** What this process cannot serve though it is ready, a sentence each. */
  notices(): string[];
  /** Keys, tenants or the organisation changed, or may have: caches of them are to be dropped. */
  onOrganisationChanged(drop: () => void): void;
  /** To be called when nothing uses the services any more. */
  close(): Promise<void>;
}

/**
 * Connects to Redis, to one of several at least, and a migrated Postgres, and makes everything that the operations are handed.
 * Resolves when the first catalog is loaded and notices of changes arrive; rejects, with nothing left open, if that fails.
 */
export async function openLaurel(options: FrontendSettings & { log: Log }): Promise<Laurel> {
  const core = await createFrontendCore(options);
  const { redis, pool, guard, catalogs, changes, tenants, backlog, clockSkew, metrics } = core;
  const live = await orClose(core, async () => {
    const made = createLive(core);
    await changes.start();
    // From now on changes are noticed. Earlier ones are read here.
    await Promise.all([tenants.refresh(), catalogs.load(0), backlog.measure()]);
    backlog.start();
    return made;
  });
  const isServed = (tenantNo: number): boolean => guard.isOpen(shardOf(tenantNo));
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
    notices: () => guard.notices,
    onOrganisationChanged: (drop) => void changes.listen({ organisationChanged: drop }),
    close: () => core.close(),
  };
}
