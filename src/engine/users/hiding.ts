import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { clearedRuns } from '../../postgres/users/stored-states.ts';
import { KIND } from '../../packed/record-fields.ts';
import { decodeState, type UserState } from '../../packed/state.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import { unlessRefused } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';
import { packedUser, userPart } from '../../redis/parts.ts';
import { type TenantPart } from '../../redis/keys.ts';

export interface HidingOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  /** The sorted sets of boards that may contain users of a tenant's part whose states do not name them. */
  setsOfBoards: (part: TenantPart) => Promise<string[]>;
  clock: Clock;
}

export class Hiding {
  private readonly options: HidingOptions;

  constructor(options: HidingOptions) {
    this.options = options;
  }

  /**
   * Hides a user, or ends that, for an administrator or the user. Returns the state afterwards. A hidden user keeps
   * everything but is absent from rankings that are not final; a user who is shown again takes the place of the score.
   * Idempotent. Throws 404 for an unknown user, 503.
   */
  async set(
    compiled: CompiledCatalog,
    userId: string,
    { by, hidden }: { by: keyof typeof HIDDEN_BY; hidden: boolean },
  ): Promise<UserState> {
    const { redis, scripts, setsOfBoards } = this.options;
    const { tenantNo } = compiled.catalog;
    const boards = await this.boards(compiled, userId);
    const called = await scripts.callUser(tenantNo, {
      script: 'hide_user',
      userId,
      body: { boards, by: HIDDEN_BY[by], hidden },
      keys: hidden ? await setsOfBoards(userPart(redis, tenantNo, userId)) : [],
    });
    unlessRefused(compiled, called!.reply, [KIND.user]);
    return decodeState(called!.state);
  }

  /** All boards in the script's form. Cleared runs have no sets any longer, and must not get new ones. */
  private async boards(compiled: CompiledCatalog, userId: string): Promise<object[]> {
    const { redis, pool, clock } = this.options;
    const { leaderboards, tenantNo } = compiled.catalog;
    const packed = await packedUser(redis, tenantNo, userId);
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
