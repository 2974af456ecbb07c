import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { CompiledPlan } from '../../rules/plan.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { parseDecimal } from '../../domain/decimal.ts';
import type { EventResponse } from '../../domain/event.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { epochDay, isoTimeOrNull } from '../../domain/periods.ts';
import type {
  GuardCount,
  QuarantinedEvent,
  QuarantineQuery,
  ReleasedEvent,
} from '../../domain/administration/quarantine.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import { GUARD, QUARANTINED } from '../../packed/guard-fields.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { AuditAction } from '../../domain/administration/audit.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import {
  guardCounts,
  listQuarantine,
  QUARANTINE_STATUS,
  type QuarantineRow,
  readQuarantined,
} from '../../postgres/corrections/quarantine.ts';
import { quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { byPart, userPart } from '../../redis/parts.ts';
import { isInQuarantine, takeFromQuarantine } from '../../rules/guards.ts';
import { droppedRecord } from '../../rules/event-record.ts';
import { type Block, mapPart } from '../changes/block.ts';
import { callsOf } from '../changes/calls.ts';
import { changeUsers, type ReadUser } from '../changes/change-users.ts';
import { createReachedClock, recordEvents } from '../changes/record-events.ts';
import { eventAnswer, guardName } from '../events/event-answer.ts';
import type { ReadyEvent } from '../events/ready-event.ts';
import { matching } from '../events/prepared-event.ts';
import type { EventRanks } from '../leaderboards/wide-ranks.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';
import { refusalError } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';
import { spanOf } from '../span.ts';

export interface QuarantineOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  clock: Clock;
  /** Replies for those of the events that Postgres holds as applied. */
  findPersisted: (tenantNo: number, events: readonly ReadyEvent[]) => Promise<Map<string, ScriptReply>>;
  recordAudit: RecordAudit;
  addRanks: EventRanks;
}

/** The result of a call about events in quarantine: those that are settled now, and why the others are not. */
export interface QuarantineResult<T> {
  settled: T[];
  refused: ReadonlyMap<string, string>;
}

/** Events in one call that drops some. */
const DROPPED_A_CALL = 100;

const NOT_THERE = 'There is no event in quarantine with this ID';

/** Events that guards hold back until an administrator decides. `by`: the administrator or key that asks. */
export function createQuarantine(options: QuarantineOptions) {
  const held: Applying = { ...options, reached: createReachedClock() };

  /** A page of events, newest first, and the next cursor (`null`: none). Throws 422 for an unknown metric. */
  async function list(
    compiled: CompiledCatalog,
    { limit, cursor, status, userId, metricKey, guard, from, to }: QuarantineQuery,
  ): Promise<{ events: QuarantinedEvent[]; nextCursor: string | null }> {
    const metric = metricKey === undefined ? null : compiled.metrics.get(metricKey);
    if (metric === undefined)
      throw new AppError('unprocessable', `There is no metric with the key '${metricKey}'.`, {
        hint: didYouMean(metricKey!, compiled.metrics.keys()),
      });
    const rows = await listQuarantine(await upToDate(options, compiled), {
      tenantNo: compiled.catalog.tenantNo,
      status: QUARANTINE_STATUS[status ?? 'waiting'],
      limit: limit + 1,
      before: cursor ?? null,
      userId: userId ?? null,
      metricNo: metric?.no ?? null,
      guard: guard === undefined ? null : GUARD[guard],
      ...spanOf({ from, to }),
    });
    const page = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? uuidText(page.at(-1)!.id) : null;
    return { events: page.map((row) => quarantinedAnswer(compiled, row)), nextCursor };
  }

  /** How often guards stopped a user's events, by metric and guard. */
  async function countsOf(compiled: CompiledCatalog, userId: string): Promise<GuardCount[]> {
    const counts = await guardCounts(await upToDate(options, compiled), compiled.catalog.tenantNo, userId);
    return counts.map(({ metricNo, guard, last, ...numbers }) => ({
      metricKey: compiled.metricsByNo.get(metricNo)?.key ?? null,
      guard: guardName(guard),
      ...numbers,
      last: last.toISOString(),
    }));
  }

  /**
   * Applies events now, oldest first, without asking the guards again. Idempotent: each event is applied once. The
   * audit log records the release beforehand. An event that would be refused outside of quarantine (points or sums out
   * of range) stays.
   */
  async function release(
    compiled: CompiledCatalog,
    ids: readonly string[],
    by: Author,
  ): Promise<QuarantineResult<ReleasedEvent>> {
    const released: ReleasedEvent[] = [];
    const { rows, refused } = await requested(options, compiled, ids);
    await record(options, 'release', compiled, rows, by);
    for (const row of rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const outcome = await apply(held, compiled, row);
      if (typeof outcome === 'string') refused.set(uuidText(row.id), outcome);
      else if (outcome !== null) released.push({ id: uuidText(row.id), event: outcome.event });
      else {
        const [now] = await readQuarantined(await upToDate(options, compiled), compiled.catalog.tenantNo, [row.id]);
        if (now?.status === QUARANTINE_STATUS.released) released.push({ id: uuidText(row.id), event: null });
        else refused.set(uuidText(row.id), NOT_THERE);
      }
    }
    return { settled: released, refused };
  }

  /** Drops events for good; their idempotency keys stay used. Events that were dropped before count as settled. */
  async function drop(
    compiled: CompiledCatalog,
    ids: readonly string[],
    by: Author,
  ): Promise<QuarantineResult<string>> {
    const { rows, refused } = await requested(options, compiled, ids);
    await record(options, 'delete', compiled, rows, by);
    for (let from = 0; from < rows.length; from += DROPPED_A_CALL)
      await remove(options, compiled.catalog.tenantNo, rows.slice(from, from + DROPPED_A_CALL));
    const after = await readQuarantined(
      await upToDate(options, compiled),
      compiled.catalog.tenantNo,
      rows.map(({ id }) => id),
    );
    const dropped = after.filter(({ status }) => status === QUARANTINE_STATUS.dropped).map(({ id }) => uuidText(id));
    for (const { id } of rows) if (!dropped.includes(uuidText(id))) refused.set(uuidText(id), NOT_THERE);
    return { settled: dropped, refused };
  }

  return {
    list,
    countsOf,
    release,
    drop,
    remove: (tenantNo: number, rows: readonly QuarantineRow[]) => remove(options, tenantNo, rows),
    apply: (compiled: CompiledCatalog, row: QuarantineRow) => apply(held, compiled, row),
  };
}

export type Quarantine = ReturnType<typeof createQuarantine>;

/** A released event is recorded with the time of the release. */
type Applying = QuarantineOptions & { reached: ReturnType<typeof createReachedClock> };

/** Removes events from quarantine without applying them. A retry changes nothing. Throws 503. */
async function remove(
  { redis, scripts, clock }: QuarantineOptions,
  tenantNo: number,
  rows: readonly QuarantineRow[],
): Promise<void> {
  const nowMs = clock.now();
  for (const [part, some] of byPart(redis, tenantNo, rows, (row) => row.userId)) {
    const users = new Set(some.map(({ userId }) => userId));
    const subjects = Array.from(users, (userId) => {
      const ids = some.filter((row) => row.userId === userId).map(({ id }) => id);
      const compute = (read: ReadUser) => ({ block: removalOf(part, read, { userId, ids, nowMs }) });
      return { userId, keys: [], isGuarded: true, compute };
    });
    await changeUsers(callsOf(scripts, part), part, subjects);
  }
}

/**
 * Applies a waiting event and removes it from quarantine, atomically. A text: refused; `null`: not waiting. Throws
 * 503.
 */
async function apply(
  options: Applying,
  compiled: CompiledCatalog,
  row: QuarantineRow,
): Promise<{ event: EventResponse } | string | null> {
  const { scripts, clock } = options;
  scripts.refuseOverload();
  const metric = compiled.metricsByNo.get(row.metricNo);
  if (metric === undefined) return 'Its metric was deleted: it can only be dropped';
  const plan = compiled.plan(metric.key, epochDay(clock.now()))!;
  const event: ReadyEvent = {
    compiled,
    plan: withoutGuards(plan),
    id: row.id,
    userId: row.userId,
    value: parseDecimal(row.value),
    sent: null,
    attributes: row.attributes === null ? '' : JSON.stringify(row.attributes),
    counted: matching(plan.counters, row.attributes ?? undefined),
    idempotency: null,
  };
  let reply = await attempt(options, event);
  // A retry may find the record of the event's arrival in quarantine, which says nothing about the release.
  while (reply[kindField] === KIND.guarded) reply = await attempt(options, event);
  if (reply[kindField] === KIND.event)
    return { event: JSON.parse(eventAnswer(compiled, reply, row.idempotencyKey)) as EventResponse };
  return reply[kindField] === REFUSAL.notQuarantined ? null : refusalError(compiled, reply).message;
}

async function attempt(options: Applying, event: ReadyEvent): Promise<ScriptReply> {
  const { redis, scripts, clock, reached, findPersisted, addRanks } = options;
  const { tenantNo } = event.compiled.catalog;
  let persisted: ScriptReply | undefined;
  const part = userPart(redis, tenantNo, event.userId);
  const calls = callsOf(scripts, part, {
    foundElsewhere: async () => {
      persisted = (await findPersisted(tenantNo, [event])).get(event.id);
      return persisted !== undefined;
    },
  });
  const { replies } = await recordEvents(calls, part, [event], { nowMs: clock.now(), keysPerDay: 0, reached });
  const reply = persisted ?? replies[0]!;
  await addRanks(event.compiled, [reply]);
  return reply;
}

/** The events with these IDs, and the IDs without an event. */
async function requested(
  options: QuarantineOptions,
  compiled: CompiledCatalog,
  ids: readonly string[],
): Promise<{ rows: QuarantineRow[]; refused: Map<string, string> }> {
  const rows = await readQuarantined(await upToDate(options, compiled), compiled.catalog.tenantNo, ids);
  const known = new Set(rows.map(({ id }) => uuidText(id)));
  return { rows, refused: new Map(ids.flatMap((id) => (known.has(id) ? [] : [[id, NOT_THERE] as const]))) };
}

async function record(
  { recordAudit }: QuarantineOptions,
  action: AuditAction,
  { catalog: { tenantNo } }: CompiledCatalog,
  rows: readonly QuarantineRow[],
  by: Author,
): Promise<void> {
  const waiting = rows.filter(({ status }) => status === QUARANTINE_STATUS.waiting);
  const entries = waiting.map(({ id, userId }) => ({
    action,
    kind: 'quarantined_event' as const,
    id: uuidText(id),
    userId,
  }));
  await recordAudit({ tenantNo, by, entries });
}

/** The pool, once Postgres holds what the tenant's users did. */
async function upToDate(options: QuarantineOptions, { catalog }: CompiledCatalog): Promise<Pool> {
  await untilPersisted(options, catalog.tenantNo);
  return options.pool;
}

/** The plan that applies an event without guards. */
function withoutGuards({ plan, ...compiled }: CompiledPlan): CompiledPlan {
  return { ...compiled, plan: { ...plan, guards: { asked: [], release: true } } };
}

const STATUS = new Map(
  (['waiting', 'released', 'dropped'] as const).map((status) => [QUARANTINE_STATUS[status] as number, status]),
);

export const quarantinedAnswer = (compiled: CompiledCatalog, row: QuarantineRow): QuarantinedEvent => ({
  id: uuidText(row.id),
  userId: row.userId,
  metricKey: compiled.metricsByNo.get(row.metricNo)?.key ?? null,
  guard: guardName(row.guard),
  value: Number(row.value),
  attributes: row.attributes,
  idempotencyKey: row.idempotencyKey,
  status: STATUS.get(row.status)!,
  at: new Date(row.atMs).toISOString(),
  settled: isoTimeOrNull(row.settledMs),
});

/** Removes events of a user from quarantine; `null` if none of them is there. */
function removalOf(
  part: TenantPart,
  read: ReadUser,
  { userId, ids, nowMs }: { userId: string; ids: readonly string[]; nowMs: number },
): Block | null {
  const quarantine = { ...read.quarantine };
  const present = ids.filter((id) => isInQuarantine(quarantine, id));
  if (present.length === 0) return null;
  for (const id of present) takeFromQuarantine(quarantine, id);
  const key = quarantineKey(part);
  return {
    userId,
    expected: read.packed,
    generation: read.generation,
    state: null,
    uses: [],
    counts: [{ key, field: QUARANTINED.count, added: -present.length }],
    fields: [{ key, field: userId, before: read.quarantine.events, value: quarantine.events }],
    records: present.map((id) => mapPart(droppedRecord(id, userId, nowMs), null)),
  };
}
