import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { MetricEvent } from '../../domain/event.ts';
import type { GuardedRecord, RecordedStreak, Refusal, ScriptReply } from '../../packed/record.ts';
import { GUARDED } from '../../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { REFUSAL, REPLAY } from '../../packed/refusal-fields.ts';
import { decimalOf, type PackedTotal } from '../../packed/state.ts';
import { occurredMs, prepareEvent } from './prepared-event.ts';
import { refuseOverload } from '../refusals.ts';
import { refusalError } from '../refusals.ts';
import { eventAnswer, guardError, isQuarantined, quarantinedBy, quarantinedJson, streakJson } from './event-answer.ts';
import type { EventBatcher } from './event-batcher.ts';
import { scopedKey, type ReadyEvent } from './event-call.ts';
import { uuidText } from '../../domain/schemas.ts';
import { isOtherBody, timeOfUse } from '../../redis/idempotency.ts';
import type { KeyedIds } from '../ids.ts';

/** The catalogs by tenant; at once where loaded, which is always but for the first call. */
interface CatalogSource {
  get(tenantNo: number): CompiledCatalog | undefined;
  load(tenantNo: number): Promise<CompiledCatalog>;
}

/** Has events applied that say when they happened: `LateEvents` of `src/engine/corrections`. */
export interface OccurredEvents {
  submit(ready: ReadyEvent, atMs: number, submit: (event: ReadyEvent) => Promise<ScriptReply>): Promise<ScriptReply>;
}

export interface EventEngineOptions {
  catalogs: CatalogSource;
  batcher: EventBatcher;
  ids: KeyedIds;
  clock: Clock;
  /** Whether the outbox holds more than it may, so that no event is taken. */
  overloaded: () => boolean;
  /** For events that say when they happened. */
  late: OccurredEvents;
}

/** Takes events: checks them, has them applied, and answers with what changed. */
export class EventEngine {
  private readonly options: EventEngineOptions;

  constructor(options: EventEngineOptions) {
    this.options = options;
  }

  /**
   * Records one event of a tenant. 201 with an `EventResponse` as JSON text, or 202 for a used idempotency key, or an
   * event that a guard puts into quarantine. Errors: 403 and 422 for an `occurredAt` outside its window, 422 for what an
   * application key may not write (`byClient`: sent with one), an unknown metric, attribute or time zone, a guard, out of points, a sum that would leave its range, a subscription without e-mail; 503 while Redis is away or the backlog is
   * full. Idempotent with a key. `span`: of the request, where it is sampled.
   */
  async record(
    tenantNo: number,
    metricKey: string,
    {
      event,
      idempotencyKey,
      byClient = false,
      span,
    }: { event: MetricEvent; idempotencyKey: string | null; byClient?: boolean; span?: Span | undefined },
  ): Promise<{ status: number; json: string }> {
    const { catalogs, batcher, ids, overloaded } = this.options;
    refuseOverload(overloaded);
    const compiled = catalogs.get(tenantNo) ?? (await catalogs.load(tenantNo));
    const ready = this.prepare(compiled, metricKey, { event, idempotencyKey, byClient });
    const reply =
      event.occurredAt === undefined
        ? await batcher.submit(tenantNo, ready, span)
        : await this.submitOccurred(ready, event.occurredAt, { byClient, span });
    if (reply[kindField] === KIND.event) return { status: 201, json: eventAnswer(compiled, reply, idempotencyKey) };
    if (reply[kindField] === REFUSAL.replay)
      return { status: 202, json: unchangedAnswer(ready, replayed(ids, ready, reply)) };
    if (reply[kindField] === KIND.guarded) {
      if (!isQuarantined(reply)) throw guardError(compiled, reply);
      return { status: 202, json: unchangedAnswer(ready, quarantinedAnswer(reply, idempotencyKey)) };
    }
    throw refusalError(compiled, reply);
  }

  private submitOccurred(
    ready: ReadyEvent,
    occurredAt: string,
    { byClient, span }: { byClient: boolean; span: Span | undefined },
  ): Promise<ScriptReply> {
    const { batcher, late, clock } = this.options;
    const { events } = ready.compiled.catalog;
    const atMs = occurredMs(occurredAt, { ...events, byClient }, clock.now());
    return late.submit(ready, atMs, (event) => batcher.submit(event.compiled.catalog.tenantNo, event, span));
  }

  /** Checks an event against the catalog and makes it ready for the script. Throws as `record`. */
  prepare(
    compiled: CompiledCatalog,
    metricKey: string,
    {
      event,
      idempotencyKey,
      byClient = false,
    }: { event: MetricEvent; idempotencyKey: string | null; byClient?: boolean },
  ): ReadyEvent {
    const { clock, ids } = this.options;
    return prepareEvent(compiled, metricKey, { event, idempotencyKey, byClient, nowMs: clock.now(), ids });
  }
}

/** What the answer to an event says that changed nothing. */
interface Unchanged {
  eventId: string;
  total: PackedTotal;
  streak: RecordedStreak;
  day: number;
  /** Fields behind the others, as JSON text. */
  more: string;
}

/** Of a replay: the original event, total and streak as they are now. */
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

/** Of an event that is kept in quarantine. */
const quarantinedAnswer = (record: GuardedRecord, key: string | null): Unchanged => ({
  eventId: record[RECORD.id],
  total: record[RECORD.total]!,
  streak: record[RECORD.streak]!,
  day: record[RECORD.day]!,
  more: (key === null ? '' : keyJson(key, false)) + quarantinedJson(record[RECORD.guard][GUARDED.guard]),
});

const keyJson = (key: string, replayed: boolean): string =>
  `,"idempotencyKey":${JSON.stringify(key)},"idempotentReplayed":${replayed}`;

/** The answer to an event that changed nothing, as JSON text of an `EventResponse`. */
function unchangedAnswer({ compiled, plan }: ReadyEvent, { eventId, total, streak, day, more }: Unchanged): string {
  const metricId = compiled.metricsByNo.get(plan.plan.metric)!.id;
  return (
    `{"eventId":"${uuidText(eventId)}","metricId":"${metricId}","total":${decimalText(decimalOf(total))}` +
    `,"achievements":[],"currentStreak":${streakJson(compiled, streak, day)},"points":{},"leaderboards":{}${more}}`
  );
}
