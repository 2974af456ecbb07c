import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { CompiledPlan } from '../../catalog/plan.ts';
import type { Clock } from '../../clock.ts';
import { parseDecimal } from '../../domain/decimal.ts';
import type { EventResponse } from '../../domain/event.ts';
import { DAY_MS } from '../../domain/periods.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL, UNKNOWN_OFFSET } from '../../packed/refusal-fields.ts';
import { unpack } from '../../packed/state.ts';
import type { QuarantineRow } from '../../postgres/quarantine/read-quarantine.ts';
import { boardKeyPrefix, countersKey, outboxKey, shardOf } from '../../redis/keys.ts';
import { Script } from '../../redis/script.ts';
import { refuseOverload } from '../calls/overload.ts';
import { refusalError } from '../calls/refusal.ts';
import type { ScriptCalls } from '../calls/script-calls.ts';
import { withZone } from '../calls/sent-user.ts';
import { eventAnswer } from '../events/event-answer.ts';
import { eventCall, type ReadyEvent } from '../events/event-call.ts';
import { matching } from '../events/prepare-event.ts';

export interface QuarantineCallsOptions {
  /** The batcher's, so that both know the same of the outboxes. */
  calls: ScriptCalls;
  clock: Clock;
  /** Answers for those of these events that Postgres holds as applied. */
  findPersisted: (tenantNo: number, events: readonly ReadyEvent[]) => Promise<Map<string, ScriptReply>>;
  /** Whether the outbox holds more than it may, so that nothing is taken. */
  overloaded: () => boolean;
}

/** Events of one call that drops some. */
const DROPPED_A_CALL = 100;

/** The scripts by which events leave the quarantine. */
export class QuarantineCalls {
  private readonly options: QuarantineCallsOptions;
  private readonly recordEvents = new Script('record_events');
  private readonly dropQuarantined = new Script('drop_quarantined');

  constructor(options: QuarantineCallsOptions) {
    this.options = options;
  }

  /**
   * Applies an event now, if it waits: it leaves the quarantine in the same atomic step. Resolves with what it changed; with a
   * text where it is refused and goes on waiting; with null where it does not wait. 503 while the backlog is full.
   */
  async release(compiled: CompiledCatalog, row: QuarantineRow): Promise<{ event: EventResponse } | string | null> {
    const { clock, overloaded } = this.options;
    refuseOverload(overloaded);
    const metric = compiled.metricsByNo.get(row.metricNo);
    if (metric === undefined) return 'Its metric was deleted: it can only be dropped';
    const plan = compiled.plan(metric.key, Math.floor(clock.now() / DAY_MS))!;
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
    let reply = await this.record(event);
    // A retry that found the record of when the event was kept: it says nothing of a release.
    while (reply[kindField] === KIND.guarded) reply = await this.record(event);
    if (reply[kindField] === REFUSAL.unknownOffset) {
      const sent = withZone(null, reply[UNKNOWN_OFFSET.zone], clock.now());
      reply = await this.record({ ...event, sent });
    }
    if (reply[kindField] === KIND.event)
      return { event: JSON.parse(eventAnswer(compiled, reply, row.idempotencyKey)) as EventResponse };
    return reply[kindField] === REFUSAL.notQuarantined ? null : refusalError(compiled, reply).message;
  }

  /** Drops those events that wait. Idempotent. */
  async drop(tenantNo: number, rows: readonly QuarantineRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += DROPPED_A_CALL) {
      const some = rows.slice(from, from + DROPPED_A_CALL).flatMap(({ userId, id }) => [userId, id]);
      await this.options.calls.run(tenantNo, {
        script: this.dropQuarantined,
        keysAndArgs: ({ nowMs }) => ({
          keys: [outboxKey(shardOf(tenantNo)), countersKey(tenantNo)],
          args: [nowMs, tenantNo, boardKeyPrefix(tenantNo), ...some],
        }),
        // Dropping twice changes nothing the second time.
        foundElsewhere: async () => false,
      });
    }
  }

  private async record(event: ReadyEvent): Promise<ScriptReply> {
    const { tenantNo } = event.compiled.catalog;
    let persisted: ScriptReply | undefined;
    const replies = await this.options.calls.run(tenantNo, {
      script: this.recordEvents,
      keysAndArgs: (at) => eventCall(tenantNo, [event], { ...at, keysPerDay: 0 }),
      foundElsewhere: async () => {
        persisted = (await this.options.findPersisted(tenantNo, [event])).get(event.id);
        return persisted !== undefined;
      },
    });
    return persisted ?? (unpack(replies![0]!) as ScriptReply);
  }
}

/** The plan with which an event leaves the quarantine. */
function withoutGuards({ plan, ...compiled }: CompiledPlan): CompiledPlan {
  const released = { ...plan, guards: { asked: [], release: true as const } };
  return { ...compiled, plan: released, json: JSON.stringify(released) };
}
