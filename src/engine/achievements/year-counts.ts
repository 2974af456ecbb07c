import type { Redis } from 'ioredis';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { compileAnniversaryPlan } from '../../catalog/compile/plans.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { yearsAt } from '../../domain/anniversary.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { zoneOffset } from '../../domain/zone.ts';
import { decodeState } from '../../packed/state.ts';
import type { DueUser } from '../../postgres/users/anniversaries.ts';
import { userKey } from '../../redis/keys.ts';
import { eventId } from '../ids/event-id.ts';
import { callUsers } from '../scripts.ts';

export interface YearCountsOptions {
  redis: Redis;
  /** Called when entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
}

/** Users a script call: as for points for time, events wait some 5 ms at most. */
const USERS_A_CALL = 200;
/** How often a user may change zone under a call before it fails. */
const TRIES = 50;

/** Counts users' full years in Redis, and completes the anniversaries that follow. */
export class YearCounts {
  private readonly options: YearCountsOptions;

  constructor(options: YearCountsOptions) {
    this.options = options;
  }

  /**
   * Counts the years of some users of a tenant, each at its time; all times are on one UTC day. What was counted before
   * changes nothing; a user who is gone is left out. False: called off before the end.
   */
  async count(users: readonly DueUser[], ending: AbortSignal): Promise<boolean> {
    const [first] = users;
    if (first === undefined) return true;
    const { catalogs } = this.options;
    await catalogs.atLeast(first.tenantNo, first.version);
    const compiled = await catalogs.of(first.tenantNo);
    const utcDay = Math.floor(first.dueMs / DAY_MS);
    const plan = JSON.stringify(compileAnniversaryPlan(compiled, utcDay));
    const aCall = fittingCall(compiled.userPlan(utcDay).work, USERS_A_CALL);
    for (let at = 0; at < users.length; at += aCall) {
      let waiting = users.slice(at, at + aCall);
      for (let tries = 0; waiting.length > 0; tries += 1) {
        if (ending.aborted) return false;
        if (tries === TRIES) throw new Error('A user changes zone all the time.');
        const outcomes = await this.call(compiled, plan, waiting);
        waiting = waiting.filter((_, index) => outcomes[index] === -1);
      }
    }
    return true;
  }

  private async call(compiled: CompiledCatalog, plan: string, users: readonly DueUser[]): Promise<number[]> {
    const { tenantNo } = compiled.catalog;
    const userIds = users.map(({ userId }) => userId);
    const states = await this.options.redis.mgetBuffer(userIds.map((userId) => userKey(tenantNo, userId)));
    const of = users.map(({ userId, dueMs }, index) => {
      const packed = states[index];
      const { signUp = null, tz = null } = packed ? decodeState(packed) : {};
      return {
        userId,
        id: eventId(dueMs),
        atMs: dueMs,
        signUpDay: signUp?.day ?? 0,
        years: signUp === null ? 0 : yearsAt(signUp, tz, dueMs),
        boosts: compiled.personalBoosts.get(userId),
        zone: tz ?? '',
        offsetSeconds: tz === null ? 0 : (zoneOffset(tz, dueMs)?.offsetSeconds ?? 0),
      };
    });
    const nowMs = users[0]!.dueMs;
    return callUsers(this.options, tenantNo, { script: 'count_years', nowMs, plan, userIds, body: { users: of } });
  }
}
