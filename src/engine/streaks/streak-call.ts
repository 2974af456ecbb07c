import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { boardKeyPrefix, countersKey, outboxKey, shardOf, userKey } from '../../redis/keys.ts';
import type { HappenedRecord, ScriptReply, StreakRefusal } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL, UNCHANGED, UNKNOWN_OFFSET } from '../../packed/refusal-fields.ts';
import { Script } from '../../redis/script.ts';
import { unpack, type PackedPause } from '../../packed/state.ts';
import { eventId } from '../ids/event-id.ts';
import { withZone, type SentUser } from '../calls/sent-user.ts';
import { refuseOverload } from '../calls/overload.ts';
import type { ScriptCalls } from '../calls/script-calls.ts';

/** A change of one user's streak, as `lua/lib/change_streak.lua` takes it. Days are epoch days. */
export type StreakChange =
  | { freeze: true; max: number }
  | { pause: PackedPause }
  | { unpause: PackedPause }
  | { reset: true }
  | { restore: { length: number; first: number; last: number; since: number } };

/** Why a change was not made; `unknown`: no such user. `day`: the user's local day. */
export interface RefusedChange {
  why: StreakRefusal | 'unknown';
  day: number;
}

export interface StreakCallOptions {
  /** The batcher's. */
  calls: ScriptCalls;
  /** Whether Postgres holds the change of a call (32 hex digits); for retries whose first try has left the outbox. */
  isStored: (callId: string) => Promise<boolean>;
  clock: Clock;
  /** Whether the outbox holds more than it may. */
  overloaded: () => boolean;
}

/** Runs `lua/adjust_streak.lua`. */
export class StreakCall {
  private readonly options: StreakCallOptions;
  private readonly script = new Script('adjust_streak');

  constructor(options: StreakCallOptions) {
    this.options = options;
  }

  /** Makes the change once, even if the connection breaks under it. Null: it is made. 503 while Redis is away. `span`: of the request. */
  async change(
    compiled: CompiledCatalog,
    userId: string,
    change: StreakChange,
    span?: Span,
  ): Promise<RefusedChange | null> {
    const { calls, isStored, clock, overloaded } = this.options;
    refuseOverload(overloaded);
    const { tenantNo } = compiled.catalog;
    const id = eventId(clock.now());
    let zone: SentUser | null = null;
    for (;;) {
      const packed = await calls.run(tenantNo, {
        script: this.script,
        spans: span && [span],
        keysAndArgs: ({ nowMs, retryPosition }) => ({
          keys: [outboxKey(shardOf(tenantNo)), countersKey(tenantNo), userKey(tenantNo, userId)],
          args: [
            nowMs,
            tenantNo,
            compiled.userPlan(Math.floor(nowMs / DAY_MS)).json,
            boardKeyPrefix(tenantNo),
            retryPosition,
            userId,
            id,
            zone === null ? '' : JSON.stringify(zone),
            JSON.stringify(change),
          ],
        }),
        foundElsewhere: () => isStored(id),
      });
      if (packed === null) return null;
      const reply = unpack(packed[0]!) as ScriptReply | HappenedRecord;
      if (reply[kindField] === KIND.streaks) return null;
      if (reply[kindField] === REFUSAL.unknownOffset) zone = withZone(zone, reply[UNKNOWN_OFFSET.zone], clock.now());
      else if (reply[kindField] === REFUSAL.unknownUser) return { why: 'unknown', day: 0 };
      else if (reply[kindField] === REFUSAL.unchanged) return { why: reply[UNCHANGED.why], day: reply[UNCHANGED.day] };
      else throw new Error(`adjust_streak answered ${reply[kindField]}`);
    }
  }
}
