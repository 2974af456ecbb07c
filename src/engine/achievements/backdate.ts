import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { compileBackdatingPlan } from '../../catalog/compile/plans.ts';
import { compileCatalog, type CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { clamped, parseDecimal } from '../../domain/decimal.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { countedUsers } from '../../postgres/backdating/counted-users.ts';
import {
  beginBackdating,
  nextBackdating,
  noteBackdating,
  type Backdating,
} from '../../postgres/backdating/requests.ts';
import { usersAfter } from '../../postgres/users/users-after.ts';
import { loadCatalog } from '../../postgres/load-catalog.ts';
import { transaction } from '../../postgres/transaction.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../../redis/keys.ts';
import type { Script } from '../../redis/script.ts';
import { eventId } from '../events/event-id.ts';
import { isPersisted } from '../persist/persisted.ts';

export interface BackdatingOptions {
  redis: Redis;
  pool: Pool;
  script: Script;
  clock: Clock;
  /** Tells that entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  /** How old a request must be, so that every process works with the catalog that made it; ms. */
  settleMs?: number;
}

/** Every process has a new catalog in under a second; twice that is waited for. */
const SETTLE_MS = 2_000;
/** Users a script call: 200 take about 4 ms of Redis, events wait no longer than that. */
const USERS_A_CALL = 200;
/** A user who gets events all the time is counted again this often before the rest of the round goes first. */
const COUNTING_TRIES = 50;

/**
 * Completes activated or edited achievements for the users who qualify already. Requests stand in Postgres; each
 * step is a transaction that notes how far it came, so a crash repeats at most one step, which changes nothing.
 */
export class BackdatingEngine {
  private readonly options: BackdatingOptions;

  constructor(options: BackdatingOptions) {
    this.options = options;
  }

  /** Works on one step of the oldest request. False: there is nothing to do. */
  async step(): Promise<boolean> {
    return transaction(this.options.pool, async (client) => {
      const request = await nextBackdating(client, this.options.settleMs ?? SETTLE_MS);
      if (request === null) return false;
      const compiled = await this.catalogOf(client, request.tenantNo);
      const achievement = compiled?.achievementsByNo.get(request.achievementNo);
      if (compiled === null || achievement?.status !== 'active') {
        await noteBackdating(client, request, { lastUser: '', users: 0, completed: 0, end: true });
        return true;
      }
      if (request.status === 'waiting') {
        // Users of before the edit may not all stand in Postgres yet.
        if (!(await isPersisted(this.options, shardOf(request.tenantNo)))) return false;
        await beginBackdating(client, request);
      }
      const users = await usersAfter(client, {
        tenantNo: request.tenantNo,
        after: request.lastUser,
        limit: USERS_A_CALL,
      });
      const ids = users.map(({ id }) => id);
      const completed = ids.length === 0 ? 0 : await this.complete(client, { compiled, request, ids });
      const end = ids.length < USERS_A_CALL;
      await noteBackdating(client, request, { lastUser: ids.at(-1) ?? '', users: ids.length, completed, end });
      return true;
    });
  }

  private async catalogOf(client: PoolClient, tenantNo: number): Promise<CompiledCatalog | null> {
    const catalog = await loadCatalog(client, tenantNo);
    return catalog === null ? null : compileCatalog(catalog);
  }

  /** Completes what the users qualify for; how many of them completed something. */
  private async complete(
    client: PoolClient,
    { compiled, request, ids }: { compiled: CompiledCatalog; request: Backdating; ids: string[] },
  ): Promise<number> {
    const achievement = compiled.achievementsByNo.get(request.achievementNo)!;
    const counting = achievement.trigger === 'metric' && achievement.eventAttributes.length > 0;
    let waiting = ids;
    let completed = 0;
    for (let tries = 0; waiting.length > 0; tries += 1) {
      // Who is counted while events come is counted again, when those are stored.
      if (tries > 0) await sleep(100);
      if (tries === COUNTING_TRIES) throw new Error(`A user of tenant ${request.tenantNo} changes all the time.`);
      const counts = counting ? await this.counts(client, { compiled, request, ids: waiting }) : null;
      const outcomes = await this.call({ compiled, request, ids: waiting, counts });
      completed += outcomes.filter((outcome) => outcome === 1).length;
      waiting = waiting.filter((_, index) => outcomes[index] === -1);
    }
    return completed;
  }

  private async counts(
    client: PoolClient,
    { compiled, request, ids }: { compiled: CompiledCatalog; request: Backdating; ids: string[] },
  ): Promise<Map<string, { state: Buffer; count: string }>> {
    const achievement = compiled.achievementsByNo.get(request.achievementNo)!;
    const conditions = achievement.eventAttributes.map(({ attributeId, attributeValue }) => [
      compiled.attributesById.get(attributeId)?.key ?? '',
      attributeValue,
    ]);
    const rows = await countedUsers(client, {
      tenantNo: request.tenantNo,
      ids,
      metricNo: compiled.metricsById.get(achievement.metricId ?? '')?.no ?? 0,
      attributes: Object.fromEntries(conditions),
    });
    return new Map(rows.map((row) => [row.id, row]));
  }

  private async call({
    compiled,
    request,
    ids,
    counts,
  }: {
    compiled: CompiledCatalog;
    request: Backdating;
    ids: string[];
    counts: Map<string, { state: Buffer; count: string }> | null;
  }): Promise<number[]> {
    const { redis, script, clock, onWritten } = this.options;
    const { tenantNo, achievementNo } = request;
    const nowMs = clock.now();
    const shard = shardOf(tenantNo);
    const plan = compileBackdatingPlan(compiled, new Set([achievementNo]), Math.floor(nowMs / DAY_MS));
    const keys = [outboxKey(shard), countersKey(tenantNo), ...ids.map((id) => userKey(tenantNo, id))];
    const args: (string | number | Buffer)[] = [
      nowMs,
      tenantNo,
      JSON.stringify(plan),
      boardKeyPrefix(tenantNo),
      pointsKeyPrefix(tenantNo),
    ];
    for (const id of ids) {
      const counted = counts?.get(id);
      const { whole, micros } = clamped(parseDecimal(counted?.count ?? '0'));
      args.push(
        id,
        eventId(nowMs),
        compiled.personalBoosts.get(id) ?? '',
        counted?.state ?? '',
        counted === undefined ? '' : JSON.stringify({ [achievementNo]: [whole, micros] }),
      );
    }
    const replies = (await script.run(redis, keys, args)) as (number | Buffer)[];
    if (String(replies[ids.length]) !== '') onWritten(shard);
    return replies.slice(0, ids.length) as number[];
  }
}
