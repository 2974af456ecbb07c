import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { compileBackdatingPlan } from '../../catalog/compile/plans.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { compileCatalog, type CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { clamped, parseDecimal } from '../../domain/decimal.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { countedUsers } from '../../postgres/backdating/counted-users.ts';
import {
  beginBackdating,
  isBackdatingWaiting,
  lockBackdating,
  nextBackdating,
  noteBackdating,
  type Backdating,
} from '../../postgres/backdating/requests.ts';
import { usersAfter } from '../../postgres/users/users-after.ts';
import { loadCatalog } from '../../postgres/load-catalog.ts';
import { transaction } from '../../postgres/transaction.ts';
import { shardOf } from '../../redis/keys.ts';
import { stateDigest } from '../corrections/state-digest.ts';
import { eventId } from '../ids/event-id.ts';
import { isPersisted } from '../persisted/persisted.ts';
import { callUsers } from '../scripts.ts';
import { Pieces, userPiece, type OnPieceFailed, type Piece } from '../schedule/pieces.ts';

export interface BackdatingOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** Tells that entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  /** How old a request must be, so that every process works with the catalog that made it; ms. */
  settleMs?: number;
  /** Called when a step for an achievement fails, or a user has to be left out. */
  onFailed?: OnPieceFailed;
}

/** Every process has a new catalog in under a second; twice that is waited for. */
const SETTLE_MS = 2_000;
/** Users a script call: 200 take about 4 ms of Redis, events wait no longer than that. */
const USERS_A_CALL = 200;
/** A user who gets events all the time is counted again this often, and then left out. */
const COUNTING_TRIES = 50;
const KIND = 'backdating of achievements';
const PATIENCE_MS = 120_000;
const NEVER = new AbortController().signal;
const NOT_PERSISTED = 'What was written before is not stored yet.';

const pieceOf = ({ tenantNo, achievementNo, achievementId }: Backdating): Piece => ({
  key: `${tenantNo}:${achievementNo}`,
  name: `achievement ${achievementId} of tenant ${tenantNo}`,
  detail: { tenantNo, achievementNo, achievementId },
});

/**
 * Completes activated or edited achievements for the users who qualify already. Requests are rows of Postgres; each
 * step is a transaction that notes how far it came, so a crash repeats at most one step, which changes nothing.
 */
export class BackdatingEngine {
  private readonly options: BackdatingOptions;
  private readonly pieces: Pieces;

  constructor(options: BackdatingOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: KIND, onFailed: options.onFailed, patienceMs: PATIENCE_MS });
  }

  /**
   * Works on one step of the oldest request. False: there is nothing to do. An achievement whose step fails is set aside
   * for a while, and the others go on.
   */
  async step(): Promise<boolean> {
    const except = this.pieces.aside.map(({ key }) => key);
    const next = await nextBackdating(this.options.pool, { settleMs: this.options.settleMs ?? SETTLE_MS, except });
    if (next === null) return false;
    await this.pieces.attempt(pieceOf(next), NEVER, () => this.stepOf(next));
    return true;
  }

  /** Whether any request is unfinished, also one that cannot be worked on at the moment. */
  waits(): Promise<boolean> {
    return isBackdatingWaiting(this.options.pool);
  }

  /** Nothing is waited for in a transaction: what may wait comes first, and what was done is noted if it is still asked for. */
  private async stepOf(next: Backdating): Promise<void> {
    const { pool } = this.options;
    const { tenantNo, achievementNo, lastUser: after } = next;
    const compiled = await this.catalogOf(tenantNo);
    if (compiled?.achievementsByNo.get(achievementNo)?.status !== 'active') {
      await this.note(next, { lastUser: '', users: 0, completed: 0, end: true });
      return;
    }
    if (next.status === 'waiting') {
      // Users from before the edit may not all be in Postgres yet.
      if (!(await isPersisted(this.options, shardOf(tenantNo)))) throw new Error(NOT_PERSISTED);
      await transaction(pool, async (client) => {
        if (await isAsSeen(client, next)) await beginBackdating(client, next);
      });
    }
    const limit = fittingCall(compiled.userPlan(Math.floor(this.options.clock.now() / DAY_MS)).work, USERS_A_CALL);
    const ids = (await usersAfter(pool, { tenantNo, after, limit })).map(({ id }) => id);
    const completed = ids.length === 0 ? 0 : await this.complete({ compiled, request: next, ids });
    const end = ids.length < limit;
    await this.note(next, { lastUser: ids.at(-1) ?? '', users: ids.length, completed, end });
  }

  /** Unless another worker has noted this step, or the achievement was edited meanwhile: then it is done again. */
  private async note(request: Backdating, step: Parameters<typeof noteBackdating>[2]): Promise<void> {
    await transaction(this.options.pool, async (client) => {
      if (await isAsSeen(client, request)) await noteBackdating(client, request, step);
    });
  }

  private async catalogOf(tenantNo: number): Promise<CompiledCatalog | null> {
    const catalog = await loadCatalog(this.options.pool, tenantNo);
    return catalog === null ? null : compileCatalog(catalog);
  }

  /** Completes what the users qualify for; how many of them completed something. */
  private async complete({
    compiled,
    request,
    ids,
  }: {
    compiled: CompiledCatalog;
    request: Backdating;
    ids: string[];
  }): Promise<number> {
    const achievement = compiled.achievementsByNo.get(request.achievementNo)!;
    const counting = achievement.trigger === 'metric' && achievement.eventAttributes.length > 0;
    let waiting = ids;
    let completed = 0;
    for (let tries = 0; waiting.length > 0; tries += 1) {
      // Who is counted while events come is counted again, when those are stored.
      if (tries > 0) await sleep(100);
      if (tries === COUNTING_TRIES) {
        this.leaveOut(request, waiting);
        break;
      }
      const counts = counting ? await this.counts({ compiled, request, ids: waiting }) : null;
      const outcomes = await this.call({ compiled, request, ids: waiting, counts });
      completed += outcomes.filter((outcome) => outcome === 1).length;
      waiting = waiting.filter((_, index) => outcomes[index] === -1);
    }
    return completed;
  }

  /** Nobody waits longer for users who never stop to change: they qualify by what they do from now on. */
  private leaveOut({ tenantNo, achievementNo }: Backdating, ids: readonly string[]): void {
    const error = new Error('The user changes all the time: what was done before is left out.');
    for (const id of ids)
      this.options.onFailed?.({ kind: KIND, piece: userPiece(tenantNo, id, { achievementNo }), error });
  }

  private async counts({
    compiled,
    request,
    ids,
  }: {
    compiled: CompiledCatalog;
    request: Backdating;
    ids: string[];
  }): Promise<Map<string, { state: Buffer; count: string }>> {
    const achievement = compiled.achievementsByNo.get(request.achievementNo)!;
    const conditions = achievement.eventAttributes.map(({ attributeId, attributeValue }) => [
      compiled.attributesById.get(attributeId)?.key ?? '',
      attributeValue,
    ]);
    const rows = await countedUsers(this.options.pool, {
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
    const { tenantNo, achievementNo } = request;
    const nowMs = this.options.clock.now();
    const plan = compileBackdatingPlan(compiled, new Set([achievementNo]), Math.floor(nowMs / DAY_MS));
    const users = ids.map((userId) => {
      const user = { userId, id: eventId(nowMs), boosts: compiled.personalBoosts.get(userId) };
      const counted = counts?.get(userId);
      if (counted === undefined) return user;
      const { whole, micros } = clamped(parseDecimal(counted.count));
      const total: [number, number] = [whole, micros];
      return { ...user, counts: [{ no: achievementNo, total }], digest: stateDigest(counted.state) };
    });
    return callUsers(this.options, tenantNo, {
      script: 'backdate_achievements',
      nowMs,
      plan: JSON.stringify(plan),
      userIds: ids,
      body: { users },
    });
  }
}

/** Locks a request; whether it is where it was. */
async function isAsSeen(client: PoolClient, seen: Backdating): Promise<boolean> {
  const now = await lockBackdating(client, seen);
  return now !== null && now.lastUser === seen.lastUser && now.requested.getTime() === seen.requested.getTime();
}
