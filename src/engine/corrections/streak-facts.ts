import { FREQUENCIES } from '../../domain/periods.ts';
import type { Pool, PoolClient } from 'pg';
import { parseDecimal } from '../../domain/decimal.ts';
import { dayIn } from '../../domain/zone.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/streaks.ts';
import {
  type EventFact,
  eventFacts,
  pausedDays,
  type StreakChangeFact,
  streakChangeFacts,
} from '../../postgres/history/streaks.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import { requireAllRows } from '../../postgres/users/row-moves.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { factsFrom, type RecordedGain, type RecordedSettlement, type StreakFacts } from '../../rules/streak-replay.ts';
import { earlierRule, isDayOff, type MeetingRule, meetingRule, seenMs, settlementRule } from '../../rules/streaks.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { newUser, type User } from '../../rules/user.ts';
import { settledNow } from '../responses/streaks.ts';

/** A restored streak may have been lost this long ago; see `restoreWindowStart`. */
const RESTORED_DAYS = 2 * 366 + 31;

interface FactsRequest {
  userId: string;
  nowMs: number;
  /** The first local day (epoch day) on which something changes. */
  firstDay: number;
  /** Events (32 hex digits) to leave out. */
  removed?: readonly string[];
  /** If the user has more events than this in the period, the events of a day are read together. Default: the usual bound. */
  mostEvents?: number;
}

/** The data that a user's streaks depend on, and the user in the same snapshot. */
export interface UserFacts {
  facts: StreakFacts;
  user: User;
  /** The packed state, to detect changes before the correction is applied. `null` for a new user. */
  packed: Buffer | null;
}

/**
 * Reads, in one snapshot of Postgres, the data that `replayStreaks` needs for a user from a day on. Returns `null` for
 * a user unknown to Postgres. Entries that only Redis holds are missing: wait with `untilPersisted`, and compare
 * `packed` before you change anything.
 */
export function readStreakFacts(
  pool: Pool,
  compiled: CompiledCatalog,
  request: FactsRequest,
): Promise<UserFacts | null> {
  return inSnapshot(pool, (client) => streakFactsOf(client, compiled, request));
}

/** The same in the snapshot of a transaction. */
export async function streakFactsOf(
  client: PoolClient,
  compiled: CompiledCatalog,
  request: FactsRequest,
): Promise<UserFacts | null> {
  const { catalog } = compiled;
  const { userId, nowMs, firstDay, removed = [], mostEvents } = request;
  const who = { tenantNo: catalog.tenantNo, userId };
  const packed = await storedState(client, who);
  if (packed === null) return null;
  await requireAllRows(client, who);
  const user = decodeUser(packed);
  const meeting = meetingRule(compiled.streakRule, user.streakRule);
  const fromDay = factsFrom(firstDay, catalog.streaks.weekStart);
  const rows = await streakChangeFacts(client, { ...who, fromDay: fromDay - RESTORED_DAYS });
  const pauses = await pausedDays(client, { ...who, fromDay });
  const metricNos = meeting.metrics.length === 0 ? null : meeting.metrics.map(({ metric }) => metric);
  const events = meeting.on ? await eventFacts(client, { ...who, fromDay, metricNos, named: removed, mostEvents }) : [];
  return { facts: assembled(compiled, { user, nowMs, meeting, rows, pauses, events }), user, packed };
}

/** The same for a new user. `own`: the preferences sent with the event. */
export function factsOfNewUser(
  compiled: CompiledCatalog,
  tz: string | null,
  nowMs: number,
  own?: Pick<User, 'streakRule' | 'daysOff'>,
): UserFacts {
  const { streakRule } = compiled;
  const user = { ...newUser(nowMs, { freezes: streakRule.freezes, generation: null }), ...own, zone: tz };
  const meeting = meetingRule(streakRule, user.streakRule);
  return { facts: assembled(compiled, { user, nowMs, meeting, rows: [], pauses: [], events: [] }), user, packed: null };
}

interface FactSources {
  user: User;
  nowMs: number;
  meeting: MeetingRule;
  rows: readonly StreakChangeFact[];
  pauses: StreakFacts['pauses'];
  events: readonly EventFact[];
}

function assembled(
  compiled: CompiledCatalog,
  { user, nowMs, meeting, rows, pauses, events }: FactSources,
): StreakFacts {
  const { catalog, streakRule } = compiled;
  const dayAt = (ms: number): number => dayIn(user.zone, ms);
  const { day, streaks, freezes, earnedDay, settlements, gains } = settledNow(compiled, user, nowMs);
  const inForce = rows.filter(({ superseded }) => !superseded);
  return {
    createdMs: seenMs(user),
    dayAt,
    pauses,
    isDayOff: (off) => isDayOff(user.daysOff, streakRule, off, dayAt),
    rule: settlementRule(streakRule, catalog.streaks.weekStart),
    earlier: (streakRule.before ?? []).map((one) => earlierRule(one, dayAt)),
    meeting,
    maxFreezes: catalog.streaks.freezes.enabled ? catalog.streaks.freezes.max : 0,
    now: {
      day,
      streaks: {
        daily: { ...user.streaks.daily, ...streaks.daily },
        weekly: { ...user.streaks.weekly, ...streaks.weekly },
        monthly: { ...user.streaks.monthly, ...streaks.monthly },
      },
      freezes,
      earnedDay,
    },
    settlements: [
      ...inForce.filter(({ frequency }) => frequency > 0).map(settlementOf),
      ...settlements.map((one) => ({ ...one, atMs: nowMs })),
    ],
    gains: [
      ...inForce.flatMap(gainOf),
      ...gains.map((gain): RecordedGain => ({ kind: 'earned', ...gain, atMs: nowMs })),
    ],
    calls: callsOf(rows, dayAt),
    events: events.map(({ value, isSum, atMs, ...event }) => ({
      ...event,
      atMs: (isSum ? extendedOn(user, event.day, dayAt) : null) ?? atMs,
      value: parseDecimal(value),
    })),
  };
}

/** When a streak was first extended on a day, if known; the day's sums do not say. */
function extendedOn({ streaks }: User, day: number, dayAt: StreakFacts['dayAt']): number | null {
  const times = FREQUENCIES.map((frequency) => streaks[frequency].extendedMs ?? Infinity);
  const first = Math.min(...times.filter((ms) => ms !== Infinity && dayAt(ms) === day));
  return first === Infinity ? null : first;
}

const settlementOf = ({ no, frequency, kind, from, to, length, atMs }: StreakChangeFact): RecordedSettlement => ({
  no,
  frequency: FREQUENCIES[frequency - 1]!,
  kind: SETTLEMENT_KINDS[kind - 1]!,
  from,
  to,
  length,
  atMs,
});

function gainOf({ no, kind, to, length, atMs }: StreakChangeFact): RecordedGain[] {
  if (kind !== SETTLED.earned && kind !== SETTLED.given) return [];
  return [{ no, kind: kind === SETTLED.earned ? 'earned' : 'given', day: to, count: length ?? 0, atMs }];
}

/** Changes made to the streaks by calls, each once: a correction repeats the earlier ones. */
function callsOf(rows: readonly StreakChangeFact[], dayAt: StreakFacts['dayAt']): StreakFacts['calls'] {
  const uncorrected = rows.filter(({ corrected }) => !corrected);
  const given = new Set(uncorrected.filter(({ kind }) => kind === SETTLED.given).map(({ atMs }) => atMs));
  const resets = new Set(uncorrected.filter(({ kind }) => kind === SETTLED.reset).map(({ atMs }) => atMs));
  // A freeze that an inexact correction gave or took counts as a call.
  const adjusted = rows.filter((row) => row.corrected && row.kind === SETTLED.given && !given.has(row.atMs));
  return [
    ...uncorrected.flatMap(callOf),
    ...[...new Map(adjusted.map((row) => [row.atMs, row])).values()].flatMap(callOf),
    ...[...resets].map((atMs) => ({ do: 'reset' as const, atMs, day: dayAt(atMs) })),
  ];
}

function callOf({ kind, frequency, from, to, length, atMs }: StreakChangeFact): StreakFacts['calls'][number][] {
  if (kind === SETTLED.given) return [{ do: 'freeze', atMs, day: to, count: length ?? 0 }];
  if (kind === SETTLED.moved) return [{ do: 'move', atMs, day: from, to }];
  if (kind === SETTLED.restored) return [{ do: 'restore', atMs, day: to, frequency: FREQUENCIES[frequency - 1]! }];
  return [];
}
