import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { MetricEvent } from '../../domain/event.ts';
import type { Refusal } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL, REPLAY } from '../../packed/refusal-fields.ts';
import { decimalOf } from '../../packed/state.ts';
import { refuseOverload } from '../calls/overload.ts';
import { refusalError } from '../calls/refusal.ts';
import { eventAnswer, streakJson } from './event-answer.ts';
import type { EventBatcher } from './event-batcher.ts';
import { scopedKey, type ReadyEvent } from './event-call.ts';
import { uuidText } from '../ids/event-id.ts';
import type { KeyedIds } from '../ids/keyed-ids.ts';
import { prepareEvent } from './prepare-event.ts';

/** The catalogs by tenant; at once where loaded, which is always but for the first call. */
interface CatalogSource {
  get(tenantNo: number): CompiledCatalog | undefined;
  load(tenantNo: number): Promise<CompiledCatalog>;
}

export interface EventEngineOptions {
  catalogs: CatalogSource;
  batcher: EventBatcher;
  ids: KeyedIds;
  clock: Clock;
  /** Whether the outbox holds more than it may, so that no event is taken. */
  overloaded: () => boolean;
}

/** Takes events: checks them, has them applied, and answers with what changed. */
export class EventEngine {
  private readonly options: EventEngineOptions;

  constructor(options: EventEngineOptions) {
    this.options = options;
  }

  /**
   * Records one event of a tenant. 201 with an `EventResponse` as JSON text, or 202 for a used idempotency key.
   * Errors: 422 for an unknown metric, attribute or time zone, out of points, a sum that would leave its range, a
   * subscription without e-mail; 503 while Redis is away or the backlog is full. Idempotent with a key. `span`: of the
   * request, where it is sampled.
   */
  async record(
    tenantNo: number,
    metricKey: string,
    { event, idempotencyKey, span }: { event: MetricEvent; idempotencyKey: string | null; span?: Span | undefined },
  ): Promise<{ status: number; json: string }> {
    const { catalogs, batcher, ids, overloaded } = this.options;
    refuseOverload(overloaded);
    const compiled = catalogs.get(tenantNo) ?? (await catalogs.load(tenantNo));
    const ready = this.prepare(compiled, metricKey, { event, idempotencyKey });
    const reply = await batcher.submit(tenantNo, ready, span);
    if (reply[kindField] === KIND.event) return { status: 201, json: eventAnswer(compiled, reply, idempotencyKey) };
    if (reply[kindField] === REFUSAL.replay) return { status: 202, json: replayAnswer(ids, ready, reply) };
    throw refusalError(compiled, reply);
  }

  /** Checks an event against the catalog and makes it ready for the script. Throws as `record`. */
  prepare(
    compiled: CompiledCatalog,
    metricKey: string,
    { event, idempotencyKey }: { event: MetricEvent; idempotencyKey: string | null },
  ): ReadyEvent {
    const { clock, ids } = this.options;
    return prepareEvent(compiled, metricKey, { event, idempotencyKey, nowMs: clock.now(), ids });
  }
}

/** The answer to a replay: the original event's ID, the current total and streak, nothing changed. */
function replayAnswer(
  ids: KeyedIds,
  event: ReadyEvent,
  replay: Refusal & { [kindField]: typeof REFUSAL.replay },
): string {
  const { compiled } = event;
  const total = decimalText(decimalOf(replay[REPLAY.total]));
  const scoped = scopedKey(event);
  const metricId = compiled.metricsByNo.get(scoped.metricNo)!.id;
  return (
    `{"eventId":"${uuidText(ids.ofUse(replay[REPLAY.use], scoped))}","metricId":"${metricId}","total":${total}` +
    `,"achievements":[],"currentStreak":${streakJson(compiled, replay[REPLAY.streak], replay[REPLAY.day])},"points":{},"leaderboards":{}` +
    `,"idempotencyKey":${JSON.stringify(scoped.key)},"idempotentReplayed":true}`
  );
}
