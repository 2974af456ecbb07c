import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Author } from '../../domain/administration/author.ts';
import {
  type EventReversal,
  MOST_REVERSED,
  type ReversalIssue,
  type ReversedEvents,
  type ReverseEvents,
} from '../../domain/administration/reversal.ts';
import { AppError } from '../../errors.ts';
import { findEvents } from '../../postgres/corrections/reversals.ts';
import { findUsedKeys } from '../../postgres/used-keys.ts';
import { findMetric } from '../find-configured.ts';
import { uuidText } from '../../domain/schemas.ts';
import { type KeyedIds, partOf } from '../ids.ts';
import { spanOf } from '../span.ts';
import type { Reversals } from './reversals.ts';
import { addTo } from '../../grouped.ts';

export interface ManyReversalsOptions {
  pool: Pool;
  ids: KeyedIds;
  reversals: Reversals;
  /** Resolves when Postgres holds the tenant's writes so far; rejects with 503 if that takes too long. */
  persisted: (tenantNo: number) => Promise<void>;
}

/** Maximum number of key digests in one call: without a metric, each key is searched in every metric. */
const MOST_DIGESTS = 20_000;

/** Reverses up to 1,000 events, one after another, oldest first. */
export function createManyReversals(options: ManyReversalsOptions) {
  const { persisted, pool, ids } = options;

  /**
   * Reverses each event separately; one that fails is reported as an issue and does not stop the others. A repeated
   * call after an interruption reverses the rest. Throws 422 if the events are not named in exactly one of the three
   * ways or are more than 1,000; 404 for an unknown metric; 503.
   */
  async function reverse(compiled: CompiledCatalog, request: ReverseEvents, by: Author): Promise<ReversedEvents> {
    const { revokeAchievements = false, dryRun = false } = request;
    const reversals: EventReversal[] = [];
    const { ids, issues } = await select(compiled, request);
    for (const id of ids) {
      try {
        reversals.push(await options.reversals.reverse(compiled, { id, revokeAchievements, dryRun }, by));
      } catch (error) {
        if (!(error instanceof AppError) || error.code === 'unavailable') throw error;
        issues.push({ eventId: uuidText(id.replaceAll('-', '')), message: error.message });
      }
    }
    return { reversals, issues };
  }

  async function select(
    compiled: CompiledCatalog,
    request: ReverseEvents,
  ): Promise<{ ids: string[]; issues: ReversalIssue[] }> {
    const { eventIds, idempotencyKeys, userId, metricKey, from, to } = request;
    const ways = [eventIds, idempotencyKeys, from ?? to].filter((way) => way !== undefined);
    if (ways.length !== 1)
      throw unprocessable("Name the events by exactly one of eventIds, idempotencyKeys, and a time ('from' and 'to').");
    if (eventIds !== undefined) {
      // A caller who names a user expects that no other user's events are reversed.
      if (userId !== undefined || metricKey !== undefined)
        throw unprocessable(
          'userId and metricKey do not go with eventIds: they choose among events that are not named by ID.',
        );
      return { ids: [...new Set(eventIds)], issues: [] };
    }
    if (userId === undefined) throw unprocessable('userId is needed: whose events are to be reversed.');
    await persisted(compiled.catalog.tenantNo);
    if (idempotencyKeys !== undefined) return byKeys(compiled, request, idempotencyKeys, userId);
    if (from === undefined || to === undefined) throw unprocessable("A time needs both 'from' and 'to'.");
    return { ids: await byTime(compiled, request, { userId, from, to }), issues: [] };
  }

  async function byKeys(
    compiled: CompiledCatalog,
    request: ReverseEvents,
    idempotencyKeys: readonly string[],
    userId: string,
  ): Promise<{ ids: string[]; issues: ReversalIssue[] }> {
    const { tenantNo } = compiled.catalog;
    const keys = [...new Set(idempotencyKeys)];
    const metricNos = metricsOf(compiled, request);
    if (keys.length * metricNos.length > MOST_DIGESTS)
      throw unprocessable('metricKey is needed for so many keys: there are too many metrics to look for each in all.');
    const usedKeys = keys.flatMap((key) =>
      metricNos.map((metricNo) => {
        const scoped = { tenantNo, userId, metricNo, key };
        return { ...scoped, idPart: partOf(ids.make(0, scoped)) };
      }),
    );
    const used = await findUsedKeys(pool, tenantNo, usedKeys);
    const idsByKey = new Map<string, string[]>();
    for (const [at, { key }] of usedKeys.entries()) {
      const id = used[at];
      if (id !== null && id !== undefined) addTo(idsByKey, key, id);
    }
    const reversed = keys.flatMap((key) => idsByKey.get(key) ?? []);
    if (reversed.length > MOST_REVERSED)
      throw unprocessable(
        `The idempotencyKeys are those of more than ${MOST_REVERSED} events: name a metricKey, or reverse them in several parts.`,
      );
    return {
      ids: reversed,
      issues: keys
        .filter((key) => !idsByKey.has(key))
        .map((key) => ({ idempotencyKey: key, message: 'The user has no event with this idempotency key.' })),
    };
  }

  async function byTime(
    compiled: CompiledCatalog,
    request: ReverseEvents,
    { userId, from, to }: { userId: string; from: string; to: string },
  ): Promise<string[]> {
    const { fromMs, toMs } = spanOf({ from, to });
    if (toMs! <= fromMs!) throw unprocessable('to must be after from.');
    const ids = await findEvents(pool, {
      tenantNo: compiled.catalog.tenantNo,
      userId,
      metricNos: metricsOf(compiled, request),
      fromMs: fromMs!,
      toMs: toMs!,
      most: MOST_REVERSED + 1,
    });
    if (ids.length > MOST_REVERSED)
      throw unprocessable(
        `The user has more than ${MOST_REVERSED} events in this time: reverse them in several parts.`,
      );
    return ids;
  }

  return { reverse };
}

const metricsOf = (compiled: CompiledCatalog, { metricKey }: ReverseEvents): number[] =>
  metricKey === undefined ? compiled.catalog.metrics.map(({ no }) => no) : [findMetric(compiled, metricKey).no];

const unprocessable = (message: string): AppError => new AppError('unprocessable', message);
