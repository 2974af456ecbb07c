import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import type { HappenedRecord, ScriptReply } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL, UNKNOWN_OFFSET } from '../../packed/refusal-fields.ts';
import { unpack } from '../../packed/state.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../../redis/keys.ts';
import { Script } from '../../redis/script.ts';
import { refuseOverload } from '../calls/overload.ts';
import { refusalError } from '../calls/refusal.ts';
import type { ScriptCalls } from '../calls/script-calls.ts';
import { withZone, type SentUser } from '../calls/sent-user.ts';
import { eventId } from '../ids/event-id.ts';
import type { ReversalPlan } from './reversal-plan.ts';

export interface ReversalCallOptions {
  /** The batcher's. */
  calls: ScriptCalls;
  /** Whether Postgres holds the reversal (32 hex digits of the opposite event); for retries whose first try has left the outbox. */
  isStored: (id: string) => Promise<boolean>;
  clock: Clock;
  /** Whether the outbox holds more than it may. */
  overloaded: () => boolean;
}

/** Runs `lua/reverse_event.lua`. */
export class ReversalCall {
  private readonly options: ReversalCallOptions;
  private readonly script = new Script('reverse_event');

  constructor(options: ReversalCallOptions) {
    this.options = options;
  }

  /**
   * Makes the reversal once, even if the connection breaks under it. Null: the plan was made from what is no longer so, or
   * an earlier try was stored; find out which. 422 where a sum would leave its range; 503.
   */
  async run(
    compiled: CompiledCatalog,
    userId: string,
    { plan, dryRun }: { plan: ReversalPlan; dryRun: boolean },
  ): Promise<HappenedRecord | null> {
    const { calls, isStored, clock, overloaded } = this.options;
    refuseOverload(overloaded);
    const { tenantNo } = compiled.catalog;
    const id = eventId(clock.now());
    let zone: SentUser | null = null;
    for (;;) {
      const packed = await calls.run(tenantNo, {
        script: this.script,
        keysAndArgs: ({ nowMs, retryPosition }) => ({
          keys: [outboxKey(shardOf(tenantNo)), countersKey(tenantNo), userKey(tenantNo, userId)],
          args: [
            nowMs,
            tenantNo,
            compiled.userPlan(Math.floor(nowMs / DAY_MS)).json,
            boardKeyPrefix(tenantNo),
            pointsKeyPrefix(tenantNo),
            retryPosition,
            userId,
            id,
            zone === null ? '' : JSON.stringify(zone),
            JSON.stringify(plan),
            dryRun ? '1' : '',
          ],
        }),
        foundElsewhere: () => isStored(id),
      });
      if (packed === null) return null;
      const reply = unpack(packed[0]!) as ScriptReply | HappenedRecord;
      if (reply[kindField] === KIND.reversal) return reply as HappenedRecord;
      if (reply[kindField] === REFUSAL.outdated) return null;
      if (reply[kindField] !== REFUSAL.unknownOffset) throw refusalError(compiled, reply as ScriptReply);
      zone = withZone(zone, reply[UNKNOWN_OFFSET.zone], clock.now());
    }
  }
}
