import { setTimeout as sleep } from 'node:timers/promises';
import { fittingCall } from '../../catalog/event-work.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { backlog, noteSweep, noteSweepEnd } from '../../redis/outbox.ts';
import { tenantParts } from '../../redis/parts.ts';
import { settleMidnight } from '../../rules/clock.ts';
import type { Plan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { changeEach, type ChangeEachOptions } from '../changes/change-each.ts';
import { eventId } from '../ids.ts';
import { isUnavailable } from '../unavailable.ts';

export interface SweepCallsOptions extends ChangeEachOptions {
  /** Called with a user who cannot be settled; the others are. */
  onUserFailed?: (tenantNo: number, userId: string, error: unknown) => void;
  usersACall?: number;
  /** Entries that may wait for Postgres before the sweep waits. */
  maxAhead?: number;
}

export interface Midnight {
  tenantNo: number;
  /** IANA name; '' means UTC. */
  zone: string;
  dueMs: number;
  /** See `compileSweepPlan`. */
  plan: Plan;
  /** Redis's worst-case time for a user, in microseconds. */
  work: number;
}

/** Events wait for at most the calls in flight. */
const USERS_A_CALL = 40;
const AT_ONCE = 2;
/** Most entries that a sweep leaves to be stored later: a million users, about 300 MB of Redis. */
const MAX_AHEAD = 40_000;
const LOOK_MS = 10;

/** Settles users' streaks, several in a call, while persisters give way. */
export function createSweepCalls(options: SweepCallsOptions) {
  const { redis, onUserFailed } = options;
  const shards = new Set<number>();

  /** Settles users in order, while `goesOn` allows it. Returns their number. Skips users who cannot be settled. */
  async function settle(ids: readonly string[], midnight: Midnight, goesOn: () => boolean): Promise<number> {
    if (ids.length === 0) return 0;
    const { usersACall = fittingCall(midnight.work, USERS_A_CALL) } = options;
    for (const { shard } of tenantParts(redis, midnight.tenantNo)) await goAhead(shard, goesOn);
    const call = callFor(midnight);
    const underWay: Promise<number>[] = [];
    let done = 0;
    for (let from = 0; from < ids.length && goesOn(); from += usersACall) {
      const answer = each(call, ids.slice(from, from + usersACall), midnight.tenantNo);
      // Awaited below, or not at all: a repetition finds what was settled.
      answer.catch(() => undefined);
      underWay.push(answer);
      if (underWay.length === AT_ONCE) done += await underWay.shift()!;
    }
    for (const answer of underWay) done += await answer;
    return done;
  }

  /** Lets persisters continue. */
  async function end(): Promise<void> {
    for (const shard of shards) await noteSweepEnd(redis, shard);
    shards.clear();
  }

  /** Makes a shard's persisters wait. If too many entries wait, waits until half of the limit is stored. */
  async function goAhead(shard: number, goesOn: () => boolean): Promise<void> {
    const { redis, maxAhead = MAX_AHEAD } = options;
    if ((await backlog(redis, shard)) > maxAhead) {
      await noteSweepEnd(redis, shard);
      while (goesOn() && (await backlog(redis, shard)) > maxAhead / 2) await sleep(LOOK_MS);
    }
    shards.add(shard);
    await noteSweep(redis, shard);
  }

  /** Makes a joint call or, if it fails, one for each user. Rejects if none can be settled. */
  async function each(
    call: (ids: readonly string[]) => Promise<number>,
    ids: readonly string[],
    tenantNo: number,
  ): Promise<number> {
    try {
      return await call(ids);
    } catch (error) {
      if (isUnavailable(error)) throw error;
    }
    let failed = 0;
    for (const id of ids) {
      try {
        await call([id]);
      } catch (error) {
        failed += 1;
        if (isUnavailable(error) || (failed > 1 && failed === ids.length)) throw error;
        onUserFailed?.(tenantNo, id, error);
      }
    }
    return ids.length;
  }

  /** One call; resolves to the number of users. */
  function callFor({ tenantNo, zone, dueMs, plan }: Midnight): (ids: readonly string[]) => Promise<number> {
    return async (ids) => {
      const users = ids.map((userId) => ({ userId, id: eventId(dueMs) }));
      await changeEach(options, tenantNo, users, (user, { userId, id }) => {
        // A user who has moved to another zone was settled at that change.
        const outcome = (user.zone ?? '') === zone ? settleMidnight(user, plan, dueMs) : null;
        if (outcome === null) return { records: [] };
        const record = requestRecord(user, outcome, { plan, nowMs: dueMs, isNew: false, id, userId });
        return { records: [{ record: { ...record, [kindField]: KIND.streaks }, effects: outcome }] };
      });
      return ids.length;
    };
  }

  return { settle, end };
}

export type SweepCalls = ReturnType<typeof createSweepCalls>;
