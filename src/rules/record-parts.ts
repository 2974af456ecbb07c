import { FREQUENCIES } from '../domain/periods.ts';
import type { Settlement } from '../domain/streaks/settle.ts';
import { RECORD, SETTLED } from '../packed/record-fields.ts';
import type {
  HappenedRecord,
  RecordedPoints,
  RecordedQuest,
  RecordedSettlement,
  RecordedStreak,
} from '../packed/record.ts';
import type { ScoreChange } from './leaderboards.ts';
import type { PlanStreak } from './plan.ts';
import type { PointsMove } from './points.ts';
import type { QuestChange } from './quests.ts';
import { type BesideStreaks, daysOffAhead, frequencyOf, type Settlements } from './streaks.ts';
import { dayOfUser, type User } from './user.ts';

// Parts that the records of several changes have.

export type Few = Partial<HappenedRecord>;

/** The settled streak of the configured frequency on a local day. */
export function recordedStreak(
  user: User,
  rule: PlanStreak,
  { extended, day }: { extended: boolean; day: number },
): RecordedStreak {
  const { length, startDay, lastPeriod } = user.streaks[frequencyOf(rule)];
  const offDays = daysOffAhead(user, rule, day, (ms) => dayOfUser(user, ms));
  const record: RecordedStreak = [length, startDay ?? -1, lastPeriod ?? -1, extended ? 1 : 0, user.freezes];
  return offDays > 0 ? ([...(record as unknown as number[]), offDays] as unknown as RecordedStreak) : record;
}

/** Adds the leaderboards with leagues on which the user has a score now. The first such record of a run gives the user a cohort. */
export function addLeagues(record: Few, scores: readonly ScoreChange[]): void {
  const entered = scores.filter(({ board, score }) => board.leagues === true && score > (board.floor ?? 0));
  if (entered.length > 0) record[RECORD.leagues] = entered.map(({ board, runDay, group }) => [board.no, runDay, group]);
}

export function addSettlements(record: Few, user: User, settlements: Settlements | null): void {
  if (settlements === null) return;
  const { streaks, beside } = settlements;
  record[RECORD.due] = 1;
  record[RECORD.freezes] = user.freezes;
  if (beside.length > 0) record[RECORD.beside] = beside.map(recordedBeside);
  const earned = beside.reduce((sum, each) => (each.kind === 'moved' ? sum : sum + each.count), 0);
  if (earned > 0) record[RECORD.freezesEarned] = earned;
  if (streaks.length > 0) record[RECORD.settlements] = streaks.map(recordedSettlement);
}

export const recordedSettlement = ({ frequency, kind, from, to, length }: Settlement): RecordedSettlement => {
  const packed = [FREQUENCIES.indexOf(frequency) + 1, SETTLED[kind], from, to];
  if (length !== null) packed.push(length);
  return packed as unknown as RecordedSettlement;
};

/** SETTLEMENTs of no frequency. */
export const recordedBeside = (each: BesideStreaks): RecordedSettlement =>
  (each.kind === 'moved'
    ? [0, SETTLED.moved, each.from, each.to]
    : [0, SETTLED[each.kind], each.day, each.day, each.count]) as unknown as RecordedSettlement;

export const recordedQuest = ({ achievement, period, times, whole, micros, completed }: QuestChange): RecordedQuest => [
  achievement,
  period,
  times,
  whole,
  micros,
  completed,
];

/** The points systems in which something was awarded. */
export function recordedPoints(ledgers: readonly PointsMove[]): RecordedPoints[] | undefined {
  const changed = ledgers.filter(({ awards }) => awards.length > 0);
  return changed.length === 0 ? undefined : changed.map(recordedMove);
}

export const recordedMove = ({ system, before, total, awards }: PointsMove): RecordedPoints => [
  system.no,
  before,
  total,
  awards.map(({ trigger, points, after, boosts, day }) =>
    day === undefined ? [trigger, points, after, boosts] : [trigger, points, after, boosts, day],
  ),
];
