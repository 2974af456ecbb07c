/** Spreads a tenant's users over another number of shards. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { storageEpochOf } from '../../domain/shard-state.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { addJob, hasOpenJob, type Job } from '../../postgres/jobs.ts';
import {
  lockCursors,
  lockTenant,
  nextEpoch,
  readCursors,
  readSpread,
  setSpread,
  setStorageEpochs,
} from '../../postgres/shards.ts';
import { inTurn, transaction } from '../../postgres/transaction.ts';
import { hasOpenMerge } from '../../postgres/users/merge-jobs.ts';
import { countUsers } from '../../postgres/users/selections.ts';
import { batchesOfTenant } from '../../redis/batches.ts';
import { byServer, connectionOf, isOfCluster, scanServers } from '../../redis/endpoints.ts';
import { gateOf, RedisNotReady } from '../../redis/gate.ts';
import { markKey, shardOfKey, SHARDS, tenantPattern } from '../../redis/keys.ts';
import { noteSpreads, partsOfSpread, type Spread } from '../../redis/parts.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { lockOf } from '../availability/accept.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { markOf } from './marks.ts';
import { fillShards, flushed, Loader, type Loaders, type OnUnreadable } from './shard-filling.ts';

export type Conversion = Job<{ spread: number }> & { tenantNo: number };

interface ConversionOptions {
  redis: Redis;
  pool: Pool;
  onUnreadable: OnUnreadable;
  /** Announces to all processes that tenants changed. */
  announce: () => Promise<void>;
}

const KEYS_A_STEP = 1_000;

/**
 * Converts tenants. Each step is idempotent, and the tenant's row says which comes next:
 *
 * 1. The tenant closes: requests about it get 503 until the end.
 * 2. Its queued batches are processed, merges of its users end, and everything about it is stored in Postgres. Then its keys are removed.
 * 3. The new spread comes into force.
 * 4. Its keys are made again from Postgres, as in a rebuild.
 * 5. The tenant opens.
 *
 * Steps 1 and 3 give the shards concerned another mark (`underNewMarks`), so that every process reads the tenant's row
 * before it can write to them again. Other tenants on these shards wait for that, about 0.1 s.
 */
export function createConverting(options: ConversionOptions): JobWork<Conversion> {
  const { announce, pool, redis, onUnreadable } = options;
  const kinds = ['tenant_spreading'] as const;
  const title = 'spreading of a tenant';
  const patienceMs = 3_600_000;

  async function slice(job: Conversion, record: RecordSlice): Promise<void> {
    const { tenantNo, parameters } = job;
    const at = await readSpread(pool, tenantNo);
    const old = partsOfSpread(tenantNo, at.spread).map(({ shard }) => shard);
    const future = partsOfSpread(tenantNo, parameters.spread).map(({ shard }) => shard);
    const shards = [...new Set([...old, ...future])].toSorted((a, b) => a - b);
    if (!at.converting) {
      if (at.spread === parameters.spread) return void (await record(async () => ({ end: 'done' })));
      await underNewMarks(options, shards, { ...at, converting: true });
      await record(async (client) => ({ total: await countUsers(client, tenantNo) }));
    } else if (at.spread !== parameters.spread) {
      if (!(await isSettled(tenantNo, old))) return;
      await remove(tenantNo, createLoaders(old));
      await underNewMarks(options, shards, { ...at, spread: parameters.spread });
      await record(async () => ({}));
    } else {
      await fill(tenantNo, future);
      await record(async (client) => {
        await setSpread(client, { ...at, converting: false, epoch: await nextEpoch(client) });
        return { end: 'done', done: job.total ?? 0 };
      });
      await announce();
    }
  }

  /** Whether no batch of the tenant waits, Postgres holds everything about it, and no merge is under way. */
  async function isSettled(tenantNo: number, shards: readonly number[]): Promise<boolean> {
    for (const shard of shards) if ((await batchesOfTenant(redis, shard, tenantNo)) > 0) return false;
    const persisted = await Promise.all(shards.map((shard) => isPersisted({ redis, pool }, shard)));
    return !persisted.includes(false) && !(await hasOpenMerge(pool, tenantNo));
  }

  /** Throws RedisNotReady if a shard is closed. */
  function createLoaders(shards: readonly number[]): Loaders {
    return new Map(
      shards.map((shard) => {
        const server = connectionOf(redis, shard);
        const belief = gateOf(server)?.belief(shard) ?? null;
        if (belief === null) throw new RedisNotReady();
        return [shard, new Loader({ redis: server, belief, beside: shards.length - 1 })];
      }),
    );
  }

  /** Removes the tenant's keys from the shards of `loaders`. Throws RedisNotReady if a shard closes meanwhile. */
  async function remove(tenantNo: number, loaders: Loaders): Promise<void> {
    const scanned = { match: tenantPattern(tenantNo), count: KEYS_A_STEP, shards: [...loaders.keys()] };
    let cursor = '0';
    do {
      const [next, keys] = await scanServers(redis, cursor, scanned);
      for (const key of keys) await loaders.get(shardOfKey(key))?.add(['UNLINK', key]);
      cursor = next;
    } while (cursor !== '0');
    await flushed(loaders);
  }

  /** Makes the tenant's keys from Postgres. Throws RedisNotReady if a shard closes meanwhile. */
  async function fill(tenantNo: number, shards: readonly number[]): Promise<void> {
    const loaders = createLoaders(shards);
    // An earlier attempt may have ended halfway.
    await remove(tenantNo, loaders);
    await fillShards({ redis, pool, loaders, onUnreadable, tenants: [tenantNo], report: async () => undefined });
  }

  return { kinds, title, patienceMs, slice };
}

/**
 * Gives some shards new marks, in one transaction with a change of a tenant's spread. A process that has not inspected
 * the shards since then can neither read nor write there. The caller waits for rebuilds of their servers. After a crash
 * in between, the shards lack their marks and are rebuilt.
 */
async function underNewMarks(
  { redis, pool }: Pick<ConversionOptions, 'redis' | 'pool'>,
  shards: readonly number[],
  change: Spread,
): Promise<void> {
  const servers = await Promise.all(
    byServer(redis, shards).map(async (server) => ({ ...server, processId: await readRedisProcessId(server.redis) })),
  );
  const locks = [...new Set(servers.map((server) => lockOf(server.redis, server.processId)))].toSorted((a, b) => a - b);
  const renew = async (): Promise<void> => {
    const { installation, epoch } = await transaction(pool, async (client) => {
      await lockCursors(client, shards);
      const { installation } = await readCursors(client);
      const epoch = await nextEpoch(client);
      for (const server of servers)
        await setStorageEpochs(client, server.shards, { storageEpoch: storageEpochOf(epoch, server.processId) });
      await setSpread(client, { ...change, epoch });
      // Last, because a shard without its mark is closed and rebuilt, which an error of Postgres must not cause.
      await Promise.all(shards.map((shard) => redis.del(markKey(shard))));
      return { installation, epoch };
    });
    noteSpreads(redis, [{ ...change, epoch }]);
    await Promise.all(shards.map((shard) => redis.set(markKey(shard), markOf(installation, epoch))));
  };
  const locked = locks.reduceRight((work, lock) => (): Promise<void> => inTurn(pool, lock, work), renew);
  await locked();
}

/** How tenants are spread, for administrators. */
export function createSpreads(redis: Redis, pool: Pool, clock: Clock, wake: () => Promise<void>) {
  async function get(tenantNo: number): Promise<Pick<Spread, 'spread' | 'converting'>> {
    return readSpread(pool, tenantNo);
  }

  /** Why spreading a tenant over a number of shards is of no use; `null` if it is useful. */
  function warning(spread: number): string | null {
    if (spread === 1 || isOfCluster(redis)) return null;
    return (
      `Redis is a single server, not a cluster: with ${spread} shards the tenant is not faster, ` +
      `and each read of all its users takes ${spread} commands.`
    );
  }

  /**
   * Asks for a tenant to be spread over a number of shards, and returns the job's ID. Throws 422 for a number that is not
   * a power of two, 409 while the tenant is being converted.
   */
  async function put(tenantNo: number, spread: number, by: Author): Promise<string> {
    if (!Number.isInteger(Math.log2(spread)) || spread > SHARDS)
      throw new AppError('unprocessable', `shards must be a power of two from 1 to ${SHARDS}.`);
    const nowMs = clock.now();
    const id = await transaction(pool, async (client) => {
      await lockTenant(client, tenantNo);
      if (await hasOpenJob(client, 'tenant_spreading', tenantNo))
        throw new AppError('conflict', 'The tenant is being spread already: wait until that job is done.');
      const parameters = { spread };
      const job = await addJob(client, { kind: 'tenant_spreading', tenantNo, parameters, requestedBy: by.who, nowMs });
      const entry = { action: 'create', kind: 'job', id: job.id, after: { kind: job.kind, spread } } as const;
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return job.id;
    });
    await wake();
    return id;
  }

  return { get, warning, put };
}
