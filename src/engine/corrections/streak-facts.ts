import type { Pool, PoolClient } from 'pg';
import { decimalText, toDecimal, toMicros } from '../../domain/decimal.ts';
import {
  factsFrom,
  type RecordedGain,
  type RecordedSettlement,
  type StreakFacts,
} from '../../domain/streaks/replay.ts';
import { FREQUENCIES } from '../../domain/streaks/settle.ts';
import type { MeetingRule, RunningStreak } from '../../domain/streaks/streak-machine.ts';
import { dayIn } from '../../domain/zone.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import { packState } from '../../packed/pack-state.ts';
import { decodeState, type StreakState, type UserState } from '../../packed/state.ts';
import { USER } from '../../packed/user-fields.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/streaks.ts';
import {
  type EventFact,
  eventFacts,
  pausedDays,
  type StreakChangeFact,
  streakChangeFacts,
} from '../../postgres/history/streaks.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import { storedState } from '../../postgres/users/stored-states.ts';
import { daysOffOf, settledNow, settlementRule } from '../responses.ts';

/** A restored streak may have been lost this long ago; see `restoreWindowStart`. */
const RESTORED_DAYS = 2 * 366 + 31;

interface Wanted {
  userId: string;
  nowMs: number;
  /** The first local day (epoch day) on which something changes. */
  firstDay: number;
  /** Events (32 hex digits) to leave out. */
  removed?: readonly string[];
  /** If the user has more events than this in the period, the events of a day are read together. Default: the usual bound. */
  mostEvents?: number;
}

/** The data that a user's streaks depend on, and the user's state in the same snapshot. */
export interface UserFacts {
  facts: StreakFacts;
  state: UserState;
  /** The packed state, to detect changes before the correction is applied. `null` for a new user. */
  packed: Buffer | null;
}

/**
 * Reads, in one snapshot of Postgres, the data that `replayStreaks` needs for a user from a day on. Returns `null` for
 * a user unknown to Postgres. Entries that only Redis holds are missing: wait with `untilPersisted`, and compare
 * `packed` before you change anything.
 */
export function readStreakFacts(pool: Pool, compiled: CompiledCatalog, wanted: Wanted): Promise<UserFacts | null> {
  return inSnapshot(pool, (client) => factsOf(client, compiled, wanted));
}

async function factsOf(client: PoolClient, compiled: CompiledCatalog, wanted: Wanted): Promise<UserFacts | null> {
  const { catalog } = compiled;
  const { userId, nowMs, firstDay, removed = [], mostEvents } = wanted;
  const who = { tenantNo: catalog.tenantNo, userId };
  const packed = await storedState(client, who);
  if (packed === null) return null;
  const state = decodeState(packed);
  const meeting = meetingRule(compiled, state);
  const fromDay = factsFrom(firstDay, catalog.streaks.weekStart);
  const rows = await streakChangeFacts(client, { ...who, fromDay: fromDay - RESTORED_DAYS });
  const pauses = await pausedDays(client, { ...who, fromDay });
  const metricNos = meeting.metrics.length === 0 ? null : meeting.metrics.map(({ metricNo }) => metricNo);
  const events = meeting.on ? await eventFacts(client, { ...who, fromDay, metricNos, named: removed, mostEvents }) : [];
  return { facts: assembled(compiled, { state, nowMs, meeting, rows, pauses, events }), state, packed };
}

/** The same for a new user. `own`: the preferences sent with the event. */
export function factsOfNewUser(
  compiled: CompiledCatalog,
  { tz, nowMs, own }: { tz: string | null; nowMs: number; own?: Pick<UserState, 'streakRule' | 'daysOff'> },
): UserFacts {
  const { freezes } = compiled.catalog.streaks;
  const state: UserState = { ...decodeState(NOBODY), ...own, createdMs: nowMs, updatedMs: nowMs, tz };
  state.freezes = freezes.enabled ? freezes.initial : 0;
  const meeting = meetingRule(compiled, state);
  return {
    facts: assembled(compiled, { state, nowMs, meeting, rows: [], pauses: [], events: [] }),
    state,
    packed: null,
  };
}

const NOBODY = packState({ [USER.createdMs]: 0, [USER.updatedMs]: 0 });

interface Read {
  state: UserState;
  nowMs: number;
  meeting: MeetingRule;
  rows: readonly StreakChangeFact[];
  pauses: StreakFacts['pauses'];
  events: readonly EventFact[];
}

function assembled(compiled: CompiledCatalog, { state, nowMs, meeting, rows, pauses, events }: Read): StreakFacts {
  const { catalog } = compiled;
  const dayAt = (ms: number): number => dayIn(state.tz, ms);
  const { day, streaks, freezes, earnedDay, settlements, gains } = settledNow(compiled, state, nowMs);
  const held = rows.filter(({ superseded }) => !superseded);
  return {
    createdMs: state.importedMs ?? state.createdMs,
    dayAt,
    pauses,
    isDayOff: daysOffOf(catalog, state.daysOff, dayAt),
    rule: settlementRule(catalog),
    earlier: (catalog.streaksBefore ?? []).map((one) => ({ ...settlementRule(one), lastDay: dayAt(one.untilMs) })),
    meeting,
    maxFreezes: catalog.streaks.freezes.enabled ? catalog.streaks.freezes.max : 0,
    now: {
      day,
      streaks: {
        daily: running(state.streaks.daily, streaks.daily),
        weekly: running(state.streaks.weekly, streaks.weekly),
        monthly: running(state.streaks.monthly, streaks.monthly),
      },
      freezes,
      earnedDay,
    },
    settlements: [
      ...held.filter(({ frequency }) => frequency > 0).map(settlementOf),
      ...settlements.map((one) => ({ ...one, atMs: nowMs })),
    ],
    gains: [...held.flatMap(gainOf), ...gains.map((gain): RecordedGain => ({ kind: 'earned', ...gain, atMs: nowMs }))],
    calls: callsOf(rows, dayAt),
    events: events.map(({ value, isSum, atMs, ...event }) => ({
      ...event,
      atMs: (isSum ? extendedOn(state, event.day, dayAt) : null) ?? atMs,
      value: toMicros(value),
    })),
  };
}

/** When a streak was first extended on a day, if known; the day's sums do not say. */
function extendedOn({ streaks }: UserState, day: number, dayAt: StreakFacts['dayAt']): number | null {
  const times = FREQUENCIES.map((frequency) => streaks[frequency].extendedMs ?? Infinity);
  const first = Math.min(...times.filter((ms) => ms !== Infinity && dayAt(ms) === day));
  return first === Infinity ? null : first;
}

/** The rule by which today's periods of a user are met; the same as `meetingRule` in `src/rules/streaks.ts`. */
function meetingRule({ catalog, metricsById }: CompiledCatalog, { streakRule: own }: UserState): MeetingRule {
  const { enabled, evaluationMode, metrics, personalization } = catalog.streaks;
  const preferred = personalization ? own : null;
  const all = preferred?.all ?? evaluationMode === 'AND';
  const known = new Set(catalog.metrics.map(({ no }) => no));
  const ownMetrics = (preferred?.metrics ?? []).filter(({ no }) => known.has(no));
  return {
    on: enabled && own?.enabled !== false,
    all,
    metrics:
      ownMetrics.length > 0
        ? ownMetrics.map(({ no, threshold }) => ({ metricNo: no, needed: toMicros(threshold) }))
        : metrics.flatMap(({ metricId, threshold }) => {
            const no = metricsById.get(metricId)?.no;
            return no === undefined ? [] : [{ metricNo: no, needed: toMicros(decimalText(toDecimal(threshold))) }];
          }),
  };
}

const running = (
  { extendedMs, currentPeriod, sums }: StreakState,
  settled: Pick<RunningStreak, 'length' | 'startDay' | 'lastPeriod'>,
): RunningStreak => ({
  length: settled.length,
  startDay: settled.startDay,
  lastPeriod: settled.lastPeriod,
  extendedMs,
  currentPeriod,
  sums: new Map(Object.entries(sums).map(([no, sum]) => [Number(no), toMicros(sum)])),
});

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
  const done = rows.filter(({ corrected }) => !corrected);
  const given = new Set(done.filter(({ kind }) => kind === SETTLED.given).map(({ atMs }) => atMs));
  const resets = new Set(done.filter(({ kind }) => kind === SETTLED.reset).map(({ atMs }) => atMs));
  // A freeze that an inexact correction gave or took counts as a call.
  const adjusted = rows.filter((row) => row.corrected && row.kind === SETTLED.given && !given.has(row.atMs));
  return [
    ...done.flatMap(callOf),
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
