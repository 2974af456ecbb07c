import type { Span } from '@opentelemetry/api';
import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { AdminStreakPause, StreakPauseItem } from '../../domain/streaks/streak.ts';
import { dateOf, dayOf, epochDay } from '../../domain/periods.ts';
import { dayIn } from '../../domain/zone.ts';
import type { AuditEntry, RecordAudit } from '../../postgres/access/audit.ts';
import { findPauses, longestLost } from '../../postgres/history/streaks.ts';
import { streaksRecord } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import { changeStreaks, restoreWindowStart, type StreakChange } from '../../rules/streak-changes.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { changeUser, refused, UNKNOWN_USER, unwritten, written } from '../changes/change-user.ts';
import { eventId } from '../ids.ts';
import type { Asked, Scripts } from '../scripts.ts';
import { STATE_IS_FULL } from '../refusals.ts';
import type { UserReads } from '../users/user-reads.ts';
import type { StreakRefusal } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL, STREAK_REFUSAL, UNCHANGED } from '../../packed/refusal-fields.ts';

export interface StreakAdminOptions {
  pool: Pool;
  users: Pick<UserReads, 'find'>;
  scripts: Scripts;
  /** Whether Postgres holds the change of a call (32 hex digits). */
  isStored: (callId: string) => Promise<boolean>;
  clock: Clock;
  recordAudit: RecordAudit;
  /** Resolves when Postgres holds the tenant's writes so far; rejects with 503 if that takes too long. */
  persisted: (tenantNo: number) => Promise<void>;
}

export class NothingDone {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export interface StreakOwner {
  userId: string;
}

/** Why a change was refused. `unknown`: there is no such user. `day`: the user's local day. */
export interface RefusedChange {
  why: StreakRefusal | 'unknown' | 'large';
  day: number;
}

const UNKNOWN = 'There is no user with this ID';

/**
 * Administrators' changes to streaks. Users are handled one after another; each change is atomic, and is recorded in
 * the audit log afterwards. `by`, `span`: who asks for it, and the request's span.
 */
export function createStreakAdmin(options: StreakAdminOptions) {
  const { persisted, recordAudit, pool, scripts, isStored, clock, users } = options;
  /** Gives a user a freeze; returns a text if it is refused. */
  async function giveFreeze(
    compiled: CompiledCatalog,
    userId: string,
    { by, span }: Asked,
  ): Promise<StreakOwner | string | NothingDone> {
    const { enabled, max } = compiled.catalog.streaks.freezes;
    if (!enabled) return 'Freezes are not enabled in the streak settings';
    const refusal = await change(compiled, userId, { kind: 'freeze', max }, span);
    if (refusal?.why === STREAK_REFUSAL.full)
      return new NothingDone(`The user has the maximum of ${max} freezes already`);
    if (refusal !== null) return reason(refusal);
    record(compiled, by, { action: 'create', kind: 'streak_freeze', userId });
    return { userId };
  }

  /** Pauses a user's streaks; returns a text if it is refused. */
  async function pause(
    compiled: CompiledCatalog,
    { userId, start, end }: StreakPauseItem,
    { by, span }: Asked,
  ): Promise<AdminStreakPause | string> {
    const [from, to] = [dayOf(start), dayOf(end)];
    if (to < from) return 'end must not be before start';
    const id = uuid();
    const pause = { from, to, id: id.replaceAll('-', '') };
    const refusal = await change(compiled, userId, { kind: 'pause', pause }, span);
    if (refusal !== null) return reason(refusal);
    record(compiled, by, { action: 'create', kind: 'streak_pause', id, userId, after: { start, end } });
    return { id, userId, start, end, status: 'active' };
  }

  /** Deletes pauses by ID; their past days stay paused. Returns the IDs that were deleted. */
  async function deletePauses(
    compiled: CompiledCatalog,
    ids: readonly string[],
    { by, span }: Asked,
  ): Promise<string[]> {
    const { tenantNo } = compiled.catalog;
    let pauses = await findPauses(pool, tenantNo, ids);
    if (pauses.length < ids.length) {
      // A pause created a moment ago may not be in Postgres yet.
      await persisted(tenantNo);
      pauses = await findPauses(pool, tenantNo, ids);
    }
    const deleted: string[] = [];
    for (const { id, userId, from, to } of pauses) {
      const pause = { from, to, id: id.replaceAll('-', '') };
      const refusal = await change(compiled, userId, { kind: 'unpause', pause }, span);
      if (refusal !== null) continue;
      deleted.push(id);
      const before = { start: dateOf(from), end: dateOf(to) };
      record(compiled, by, { action: 'delete', kind: 'streak_pause', id, userId, before });
    }
    return deleted;
  }

  /** Restores each user's longest streak. Returns the owner with the restored streak, or the reason for a refusal. */
  async function restore(
    compiled: CompiledCatalog,
    userIds: readonly string[],
    { by, span }: Asked,
  ): Promise<(StreakOwner | string | NothingDone)[]> {
    await persisted(compiled.catalog.tenantNo);
    const outcomes: (StreakOwner | string | NothingDone)[] = [];
    for (const userId of userIds) {
      const outcome = await restoreOne(compiled, userId, span);
      if (typeof outcome === 'object' && !(outcome instanceof NothingDone))
        record(compiled, by, { action: 'restore', kind: 'streak', userId });
      outcomes.push(outcome);
    }
    return outcomes;
  }

  /** Ends a user's streaks now; freezes stay. Returns a text if it is refused. */
  async function reset(
    compiled: CompiledCatalog,
    userId: string,
    { by, span }: Asked,
  ): Promise<StreakOwner | string | NothingDone> {
    const refusal = await change(compiled, userId, { kind: 'reset' }, span);
    if (refusal?.why === STREAK_REFUSAL.idle) return new NothingDone('The user has no streak');
    if (refusal !== null) return reason(refusal);
    record(compiled, by, { action: 'reset', kind: 'streak', userId });
    return { userId };
  }

  /** Makes a change once, even if the connection breaks. `null`: it was made. Throws 503. */
  async function change(
    compiled: CompiledCatalog,
    userId: string,
    change: StreakChange,
    span?: Span,
  ): Promise<RefusedChange | null> {
    const nowMs = clock.now();
    const { plan } = compiled.userPlan(epochDay(nowMs));
    const id = eventId(nowMs);
    const changed = await changeUser(
      scripts,
      compiled.catalog.tenantNo,
      {
        userId,
        compute: (read, part) => {
          if (read.packed === null) return unwritten(read, UNKNOWN_USER);
          const user = decodeUser(read.packed);
          const outcome = changeStreaks(user, change, plan, nowMs);
          if (isRefusal(outcome)) return refused(read, outcome);
          const record = streaksRecord(user, outcome, { nowMs, id, userId });
          return written(user, read, { part, record, effects: { scores: outcome.scores } });
        },
      },
      { span, isStored: () => isStored(id) },
    );
    if (changed === null) return null;
    const { reply } = changed;
    if (reply[kindField] === KIND.streaks) return null;
    if (reply[kindField] === REFUSAL.unknownUser) return { why: 'unknown', day: 0 };
    if (reply[kindField] === REFUSAL.tooLarge) return { why: 'large', day: 0 };
    if (reply[kindField] === REFUSAL.unchanged) return { why: reply[UNCHANGED.why], day: reply[UNCHANGED.day] };
    throw new Error(`unexpected refusal of a change to a streak: ${reply[kindField]}`);
  }

  /** Runs in the background. */
  function record({ catalog }: CompiledCatalog, by: Author, entry: AuditEntry): void {
    void recordAudit({ tenantNo: catalog.tenantNo, by, entries: [entry] });
  }

  async function restoreOne(
    compiled: CompiledCatalog,
    userId: string,
    span: Span | undefined,
  ): Promise<StreakOwner | string | NothingDone> {
    const { tenantNo, streaks } = compiled.catalog;
    const state = await users.find(tenantNo, userId);
    if (state === null) return UNKNOWN;
    const since = restoreWindowStart(dayIn(state.zone, clock.now()), streaks);
    const lost = await longestLost(pool, { tenantNo, userId, frequency: streaks.frequency, since });
    const refusal = await change(compiled, userId, { kind: 'restore', lost, since }, span);
    if (refusal?.why === STREAK_REFUSAL.none) return new NothingDone('There is no longer streak to restore');
    return refusal === null ? { userId } : reason(refusal);
  }

  return { giveFreeze, pause, deletePauses, restore, reset, change };
}

export type StreakAdmin = ReturnType<typeof createStreakAdmin>;

function reason({ why, day }: RefusedChange): string {
  switch (why) {
    case 'unknown':
      return UNKNOWN;
    case STREAK_REFUSAL.past:
      return `start is in the past: the user's local date is ${dateOf(day)}`;
    case STREAK_REFUSAL.overlap:
      return 'The user has a pause on some of these days already';
    case STREAK_REFUSAL.many:
      return 'The user has 100 pauses already';
    case 'large':
      return STATE_IS_FULL;
    case STREAK_REFUSAL.full:
    case STREAK_REFUSAL.gone:
    case STREAK_REFUSAL.none:
    case STREAK_REFUSAL.idle:
      return 'Nothing to do';
  }
}
