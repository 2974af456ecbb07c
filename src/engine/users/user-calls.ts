import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../../redis/keys.ts';
import type { HappenedRecord, ScriptReply } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL, UNKNOWN_OFFSET } from '../../packed/refusal-fields.ts';
import type { Script } from '../../redis/script.ts';
import { decodeState, unpack, type UserState } from '../../packed/state.ts';
import { eventId } from '../ids/event-id.ts';
import { withZone, type SentUser } from '../calls/sent-user.ts';
import { refuseOverload } from '../calls/overload.ts';
import { refusalError } from '../calls/refusal.ts';
import type { ScriptCalls } from '../calls/script-calls.ts';
import type { SentPreferences } from './preferences.ts';

export interface UserCallsOptions {
  /** The batcher's, so that both know the same of the outboxes. */
  calls: ScriptCalls;
  clock: Clock;
  /** Whether the outbox holds more than it may, so that nothing is taken. */
  overloaded: () => boolean;
}

/** A call about one user that is no event; `sent` null: nothing but the ID. */
export interface UserCall {
  script: Script;
  userId: string;
  sent: (SentUser & SentPreferences) | null;
  /** The script's last argument. */
  last: string;
  /** Of the request, where it is sampled. */
  span?: Span | undefined;
}

/** Runs the scripts of calls about one user. */
export class UserCalls {
  private readonly options: UserCallsOptions;

  constructor(options: UserCallsOptions) {
    this.options = options;
  }

  /**
   * What happened, and the user's state after it. Errors: the script's refusals (404, 422), 503. Applied once,
   * even if the connection breaks under it.
   */
  async run(compiled: CompiledCatalog, call: UserCall): Promise<{ record: HappenedRecord; state: UserState }> {
    const { clock, calls, overloaded } = this.options;
    refuseOverload(overloaded);
    const { tenantNo } = compiled.catalog;
    const id = eventId(clock.now());
    let { sent } = call;
    for (;;) {
      const packed = await calls.run(tenantNo, {
        script: call.script,
        spans: call.span && [call.span],
        keysAndArgs: (at) => keysAndArgs(compiled, { ...call, sent }, { ...at, id }),
        // A call applied twice changes nothing the second time, so nothing has to be looked up in Postgres.
        foundElsewhere: async () => false,
      });
      const reply = unpack(packed![0]!) as ScriptReply;
      if (reply[kindField] === REFUSAL.unknownOffset) {
        sent = withZone(sent, reply[UNKNOWN_OFFSET.zone], clock.now());
        continue;
      }
      if (reply[kindField] !== KIND.user && reply[kindField] !== KIND.completion) throw refusalError(compiled, reply);
      return { record: reply, state: decodeState(packed![1]!) };
    }
  }
}

function keysAndArgs(
  compiled: CompiledCatalog,
  { userId, sent, last }: UserCall,
  { nowMs, retryPosition, id }: { nowMs: number; retryPosition: string; id: string },
): { keys: string[]; args: (string | number)[] } {
  const { tenantNo } = compiled.catalog;
  return {
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
      sent === null ? '' : JSON.stringify(sent),
      compiled.personalBoosts.get(userId) ?? '',
      last,
    ],
  };
}
