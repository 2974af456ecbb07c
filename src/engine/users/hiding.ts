import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { clearedRuns } from '../../postgres/rebuild/users.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../../redis/keys.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { Script } from '../../redis/script.ts';
import { decodeState, unpack, type UserState } from '../../packed/state.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import { eventId } from '../ids/event-id.ts';
import { refuseOverload } from '../calls/overload.ts';
import { refusalError } from '../calls/refusal.ts';
import type { ScriptCalls } from '../calls/script-calls.ts';

export interface HidingOptions {
  redis: Redis;
  pool: Pool;
  /** The batcher's, so that both know the same of the outboxes. */
  calls: ScriptCalls;
  /** The sorted sets of a tenant's boards that may hold users whose states do not say so. */
  setsOfBoards: (tenantNo: number) => Promise<string[]>;
  clock: Clock;
  /** Whether the outbox holds more than it may, so that nothing is taken. */
  overloaded: () => boolean;
}

/** Hides users from leaderboards. */
export class Hiding {
  private readonly options: HidingOptions;
  private readonly script = new Script('hide_user');

  constructor(options: HidingOptions) {
    this.options = options;
  }

  /**
   * Hides a user, or ends that, for an administrator or the user; the state after it. Who is hidden keeps everything and is in
   * no ranking that is not final; who is shown again takes the place of the score. Idempotent. 404 for a user never seen, 503.
   */
  async set(
    compiled: CompiledCatalog,
    userId: string,
    { by, hidden }: { by: keyof typeof HIDDEN_BY; hidden: boolean },
  ): Promise<UserState> {
    const { calls, clock, overloaded, setsOfBoards } = this.options;
    refuseOverload(overloaded);
    const { tenantNo } = compiled.catalog;
    const boards = JSON.stringify(await this.boards(compiled, userId));
    const sets = hidden ? await setsOfBoards(tenantNo) : [];
    const packed = await calls.run(tenantNo, {
      script: this.script,
      keysAndArgs: ({ nowMs }) => ({
        keys: [outboxKey(shardOf(tenantNo)), countersKey(tenantNo), userKey(tenantNo, userId), ...sets],
        args: [
          nowMs,
          tenantNo,
          boards,
          boardKeyPrefix(tenantNo),
          pointsKeyPrefix(tenantNo),
          userId,
          eventId(clock.now()),
          HIDDEN_BY[by],
          hidden ? '1' : '',
        ],
      }),
      // Hiding twice changes nothing the second time.
      foundElsewhere: async () => false,
    });
    const reply = unpack(packed![0]!) as ScriptReply;
    if (reply[kindField] !== KIND.user) throw refusalError(compiled, reply);
    return decodeState(packed![1]!);
  }

  /** All boards as the script takes them. Runs that are cleared have no sets any more, and must get none. */
  private async boards(compiled: CompiledCatalog, userId: string): Promise<object[]> {
    const { redis, pool, clock } = this.options;
    const { leaderboards, tenantNo } = compiled.catalog;
    const packed = await redis.getBuffer(userKey(tenantNo, userId));
    const own = packed === null ? {} : decodeState(packed).boards;
    const cleared = await clearedRuns(pool, tenantNo);
    const today = Math.floor(clock.now() / DAY_MS);
    return leaderboards.map((board) => ({
      ...compileBoard(compiled, board, { metric: null, days: [today - 1, today, today + 1] }),
      // A run that the user enters meanwhile is not cleared.
      cleared: (own[board.no] ?? []).map(({ runDay }) => runDay).filter((day) => cleared.get(board.no)?.has(day)),
    }));
  }
}
