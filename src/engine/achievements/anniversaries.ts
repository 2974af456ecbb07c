import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { compileAnniversaryPlan } from '../../catalog/compile/plans.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { epochDay } from '../../domain/periods.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { type DueUser, dueUsers } from '../../postgres/users/selections.ts';
import { countYears } from '../../rules/clock.ts';
import type { Plan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { changeEach, type ChangeEachOptions } from '../changes/change-each.ts';
import { eventId } from '../ids.ts';
import { type ScheduledWork, workInPieces } from '../schedule/due-work.ts';
import { type OnPieceFailed, type Piece, Pieces, tenantPiece } from '../schedule/pieces.ts';
import { groupedBy } from '../../grouped.ts';

/** Users in a piece of work: about one second of Redis. */
const AT_ONCE = 5_000;

/**
 * Counts the years since users signed up, and completes anniversaries. The clock counts a year at the start of the
 * local day on which it is over, and counts a sign-up date that was set late at once. An index in Postgres on the time
 * of the next count finds the users that are due. The user's state holds the count, so a repeated call changes nothing.
 * A tenant whose years cannot be counted is set aside; the others go on.
 */
export function createAnniversaries(
  pool: Pool,
  counts: Pick<YearCounts, 'count'>,
  onFailed?: OnPieceFailed,
): ScheduledWork {
  const pieces = new Pieces({ kind: 'anniversaries', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const [first] = await usersDue(upToMs, 1);
    return first?.dueMs ?? null;
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
    const users = await usersDue(Math.max(dueMs, beforeMs - 1), AT_ONCE);
    const byTenant = groupedBy(users, (user) => user.tenantNo);
    const pieceOf = ([tenantNo]: [number, unknown]): Piece => tenantPiece(tenantNo);
    await pieces.attemptEach(byTenant, pieceOf, ending, async ([, ofTenant], signal) => {
      // One call covers one UTC day.
      for (const ofDay of groupedBy(ofTenant, (user) => epochDay(user.dueMs)).values())
        if (!(await counts.count(ofDay, signal))) return;
    });
  }

  function usersDue(upToMs: number, limit: number): Promise<DueUser[]> {
    return dueUsers(pool, upToMs, pieces.tenantNos, limit);
  }

  return workInPieces(pieces, { due, perform });
}

interface YearCountsOptions extends ChangeEachOptions {
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
}

/** Users in a call, between which events come. */
const USERS_A_CALL = 200;

/** Counts users' full years in Redis, and completes their anniversaries. */
export function createYearCounts(options: YearCountsOptions) {
  const { catalogs } = options;

  /**
   * Counts the years of some users of a tenant, each at its own time; all times are on one UTC day. Counting twice
   * changes nothing. Deleted users are skipped. Returns false if `ending` aborts it.
   */
  async function count(users: readonly DueUser[], ending: AbortSignal): Promise<boolean> {
    const [first] = users;
    if (first === undefined) return true;
    await catalogs.atLeast(first.tenantNo, first.version);
    const compiled = await catalogs.of(first.tenantNo);
    const utcDay = epochDay(first.dueMs);
    const plan = compileAnniversaryPlan(compiled, utcDay);
    const aCall = fittingCall(compiled.userPlan(utcDay).work, USERS_A_CALL);
    for (let at = 0; at < users.length; at += aCall) {
      if (ending.aborted) return false;
      await call(compiled, plan, users.slice(at, at + aCall));
    }
    return true;
  }

  async function call(compiled: CompiledCatalog, plan: Plan, users: readonly DueUser[]): Promise<void> {
    const due = users.map(({ userId, dueMs }) => ({ userId, dueMs, id: eventId(dueMs) }));
    await changeEach(options, compiled.catalog.tenantNo, due, (user, { userId, dueMs, id }) => {
      const outcome = countYears(user, plan, dueMs, compiled.ownBoosts(userId));
      if (outcome === null) return { records: [] };
      const record = requestRecord(user, outcome, { plan, nowMs: dueMs, isNew: false, id, userId });
      return { records: [{ record: { ...record, [RECORD.version]: plan.version }, effects: outcome }] };
    });
  }

  return { count };
}

export type YearCounts = ReturnType<typeof createYearCounts>;
