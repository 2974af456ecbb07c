import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { MetricEvent } from '../../domain/event.ts';
import type { GuardedRecord, RecordedStreak, Refusal, ScriptReply } from '../../packed/record.ts';
import { GUARDED } from '../../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { MERGED_INTO, REFUSAL, REPLAY } from '../../packed/refusal-fields.ts';
import { decimalOf, type PackedTotal } from '../../packed/state.ts';
import { occurredMs, ofMergedUser, prepareEvent } from './prepared-event.ts';
import { refuseOverload } from '../refusals.ts';
import { refusalError } from '../refusals.ts';
import { eventAnswer, guardError, isQuarantined, quarantinedBy, quarantinedJson, streakJson } from './event-answer.ts';
import type { EventBatcher, Requester } from './event-batcher.ts';
import { scopedKey, type ReadyEvent } from './ready-event.ts';
import { uuidText } from '../../domain/schemas.ts';
import { MOST_HOPS } from '../../redis/aliases.ts';
import { isOtherBody, timeOfUse } from '../../redis/idempotency.ts';
import type { KeyedIds } from '../ids.ts';

/** The catalogs by tenant. `get` returns a loaded one at once; only a tenant's first call has to wait. */
interface CatalogSource {
  get(tenantNo: number): CompiledCatalog | undefined;
  load(tenantNo: number): Promise<CompiledCatalog>;
}

/** Applies events with a time of their own: `LateEvents` of `src/engine/corrections`. */
export interface OccurredEvents {
  submit(ready: ReadyEvent, atMs: number, submit: (event: ReadyEvent) => Promise<ScriptReply>): Promise<ScriptReply>;
}

export interface EventEngineOptions {
  catalogs: CatalogSource;
  batcher: EventBatcher;
  ids: KeyedIds;
  clock: Clock;
  /** Whether the outbox is full, so that events are refused. */
  overloaded: () => boolean;
  /** For events with an `occurredAt`. */
  late: OccurredEvents;
}

export function createEventEngine({ catalogs, batcher, ids, overloaded, late, clock }: EventEngineOptions) {
  /**
   * Records one event of a tenant. Returns 201 with an `EventResponse` as JSON text; 202 for a used idempotency key or
   * an event that goes into quarantine. Throws 403 or 422 for an `occurredAt` outside its window; 422 for a field that
   * an application key may not write (`byClient`), an unknown metric, attribute or time zone, a guard, points or sums
   * out of range, and a subscription without e-mail address; 503 while Redis is away or the backlog is full;
   * CLIENT_GONE. Idempotent with a key. `from`: the request.
   */
  async function record(
    tenantNo: number,
    metricKey: string,
    request: { event: MetricEvent; idempotencyKey: string | null; byClient?: boolean; from?: Requester },
  ): Promise<{ status: number; json: string }> {
    const { event, idempotencyKey, byClient = false, from } = request;
    refuseOverload(overloaded);
    const compiled = catalogs.get(tenantNo) ?? (await catalogs.load(tenantNo));
    let ready = prepare(compiled, metricKey, { event, idempotencyKey, byClient });
    const submit = (): Promise<ScriptReply> =>
      event.occurredAt === undefined
        ? batcher.submit(tenantNo, ready, from)
        : submitOccurred(ready, event.occurredAt, { byClient, from });
    let reply = await submit();
    for (let hops = 0; reply[kindField] === REFUSAL.merged && hops < MOST_HOPS; hops += 1) {
      ready = ofMergedUser(ready, reply[MERGED_INTO.userId], ids);
      reply = await submit();
    }
    if (reply[kindField] === KIND.event) return { status: 201, json: eventAnswer(compiled, reply, idempotencyKey) };
    if (reply[kindField] === REFUSAL.replay)
      return { status: 202, json: unchangedAnswer(ready, replayed(ids, ready, reply)) };
    if (reply[kindField] === KIND.guarded) {
      if (!isQuarantined(reply)) throw guardError(compiled, reply);
      return { status: 202, json: unchangedAnswer(ready, quarantinedAnswer(reply, idempotencyKey)) };
    }
    throw refusalError(compiled, reply);
  }

  function submitOccurred(
    ready: ReadyEvent,
    occurredAt: string,
    { byClient, from }: { byClient: boolean; from: Requester | undefined },
  ): Promise<ScriptReply> {
    const { events } = ready.compiled.catalog;
    const atMs = occurredMs(occurredAt, { ...events, byClient }, clock.now());
    return late.submit(ready, atMs, (event) => batcher.submit(event.compiled.catalog.tenantNo, event, from));
  }

  /** Checks an event against the catalog and prepares it for the rules. Throws as `record` does. */
  function prepare(
    compiled: CompiledCatalog,
    metricKey: string,
    request: { event: MetricEvent; idempotencyKey: string | null; byClient?: boolean },
  ): ReadyEvent {
    const { event, idempotencyKey, byClient = false } = request;
    return prepareEvent(compiled, metricKey, { event, idempotencyKey, byClient, nowMs: clock.now(), ids });
  }

  return { record, prepare };
}

export type EventEngine = ReturnType<typeof createEventEngine>;

interface Unchanged {
  eventId: string;
  total: PackedTotal;
  streak: RecordedStreak;
  day: number;
  more: string;
}

/** The answer to a replay: the original event with the current total and streak. */
function replayed(
  ids: KeyedIds,
  event: ReadyEvent,
  replay: Refusal & { [kindField]: typeof REFUSAL.replay },
): Unchanged {
  const scoped = scopedKey(event);
  const eventId = ids.make(Number(timeOfUse(replay[REPLAY.use])), scoped);
  const conflict = isOtherBody(replay[REPLAY.use], event.idempotency!.use) ? ',"idempotencyConflict":true' : '';
  const guard = quarantinedBy(replay[REPLAY.quarantined], eventId);
  return {
    eventId,
    total: replay[REPLAY.total],
    streak: replay[REPLAY.streak],
    day: replay[REPLAY.day],
    more: keyJson(scoped.key, true) + conflict + (guard === null ? '' : quarantinedJson(guard)),
  };
}

const quarantinedAnswer = (record: GuardedRecord, key: string | null): Unchanged => ({
  eventId: record[RECORD.id],
  total: record[RECORD.total]!,
  streak: record[RECORD.streak]!,
  day: record[RECORD.day]!,
  more: (key === null ? '' : keyJson(key, false)) + quarantinedJson(record[RECORD.guard][GUARDED.guard]),
});

const keyJson = (key: string, replayed: boolean): string =>
  `,"idempotencyKey":${JSON.stringify(key)},"idempotentReplayed":${replayed}`;

function unchangedAnswer({ compiled, plan }: ReadyEvent, { eventId, total, streak, day, more }: Unchanged): string {
  const metricId = compiled.metricsByNo.get(plan.plan.metric)!.id;
  return (
    `{"eventId":"${uuidText(eventId)}","metricId":"${metricId}","total":${decimalText(decimalOf(total))}` +
    `,"achievements":[],"currentStreak":${streakJson(compiled, streak, day)},"points":{},"leaderboards":{}${more}}`
  );
}
