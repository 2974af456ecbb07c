import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalText, type Micros, toMicros } from '../../domain/decimal.ts';
import { floorOf } from '../../domain/leaderboard.ts';
import type { Notification, NotificationType, BoardPlace } from '../../domain/notifications/notification.ts';
import {
  KIND,
  kindField,
  NO_RANK,
  RECORD,
  RECORDED_BOARD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  SETTLED,
  SETTLEMENT,
} from '../../packed/record-fields.ts';
import type {
  GoneRecord,
  MergeRecord,
  GuardedRecord,
  HappenedRecord,
  ImportedRecord,
  ProgressRecord,
  RecordedBoard,
} from '../../packed/record.ts';
import { unpackAll } from '../../packed/state.ts';
import { FREQUENCY, TOTAL } from '../../packed/user-fields.ts';
import type { OutboxEntry } from '../../redis/outbox.ts';
import { happenedIn } from '../notifications/entry-notifications.ts';
import type { RecordedUser } from '../notifications/rules.ts';

export interface BoardMove extends BoardPlace {
  userId: string;
  /** Ranks; Infinity if the user is not on the board, NaN until `rankMoves` counts those of a wide tenant. */
  from: number;
  to: number;
  /** The scores in the group, if the record holds them. */
  previousScore: number | null;
  score: number | null;
  /** When these were reached; only of wide tenants, on boards on which this ranks equal scores. */
  previousReached?: number | string | undefined;
  reached?: number | string | undefined;
  /** The change of the score; `null` if unknown. */
  earned: Micros | null;
  atMs: number;
  user: RecordedUser | undefined;
}

export interface LiveEntry {
  position: string;
  /** All but rank changes. `no` numbers them in the entry, the same for every reader. */
  notifications: { no: number; notification: Notification }[];
  moves: BoardMove[];
  /** Whether a user may have left any board without a move. */
  hasDeletion: boolean;
  events: HappenedRecord[];
  users: ReadonlyMap<string, RecordedUser>;
}

/** Those for whom an entry is read. */
interface Readers {
  compiled: CompiledCatalog;
  controlShare: number;
  wantsUser: (userId: string) => boolean;
  wantsType: (type: NotificationType) => boolean;
}

/** Types made from records, in the order in which they are reported. Rank changes are reported by board instead. */
export const MADE_FROM_RECORDS = [
  'streak.lost',
  'streak.freeze_consumed',
  'streak.freeze_earned',
  'streak.started',
  'streak.extended',
  'achievement.completed',
  'points.changed',
  'points.level_changed',
  'points.spent',
  'points.refunded',
  'points.expired',
  'user.merged',
] as const;
const ORDER: ReadonlyMap<NotificationType, number> = new Map(MADE_FROM_RECORDS.map((type, order) => [type, order]));
/** More than the notifications of a type that one record can make. */
const NUMBERS_A_TYPE = 1_000;

/** The parts of an entry that a listener wants. Pure. Calls `onProblem` for unknown forms, and continues. */
export function liveEntry(
  { id: position, records, states }: OutboxEntry,
  { compiled, controlShare, wantsUser, wantsType }: Readers,
  onProblem: (error: unknown) => void,
): LiveEntry {
  const all = recordsOf(records, onProblem);
  const merge = all.find((record) => record[kindField] === KIND.merge && record[RECORD.merged] !== undefined);
  const { users, happened, merged } = happenedIn(
    {
      compiled,
      controlShare,
      wants: (type) => ORDER.has(type) && wantsType(type),
      isWanted: (userId, hasState) => hasState && wantsUser(userId),
    },
    { records: all.filter(isHappened), states, ...(merge && { merge: merge as MergeRecord }) },
    onProblem,
  );
  return {
    position,
    notifications: [...happened.map(({ notifications }) => notifications ?? []), merged].flatMap((made, index) =>
      numberedIn(index, made),
    ),
    moves: happened.flatMap(({ record, user }) =>
      (record[RECORD.boards] ?? []).map((board) => moveOf(compiled, record, board, user)),
    ),
    hasDeletion: all.some((record) => record[kindField] === KIND.deletion),
    events: happened.flatMap(({ record }) => (record[kindField] === KIND.event ? [record] : [])),
    users,
  };
}

/** Numbers notifications by type and order, independent of which types the readers want. */
function numberedIn(index: number, made: readonly Notification[]): LiveEntry['notifications'] {
  const counts = new Map<NotificationType, number>();
  const numbered = made.map((notification) => {
    const { type } = notification;
    const nth = counts.get(type) ?? 0;
    counts.set(type, nth + 1);
    return { no: (index * ORDER.size + ORDER.get(type)!) * NUMBERS_A_TYPE + nth, notification };
  });
  return numbered.toSorted((a, b) => a.no - b.no);
}

type EntryRecord = HappenedRecord | GoneRecord | GuardedRecord | ImportedRecord | MergeRecord | ProgressRecord;

function recordsOf(records: Buffer, onProblem: (error: unknown) => void): EntryRecord[] {
  try {
    return unpackAll(records) as EntryRecord[];
  } catch (error) {
    onProblem(error);
    return [];
  }
}

const SILENT: ReadonlySet<string> = new Set([KIND.progress, KIND.guarded, KIND.imported, KIND.deletion, KIND.merge]);

const isHappened = (record: EntryRecord): record is HappenedRecord => !SILENT.has(record[kindField]);

/** See `BoardMove`. */
export function rankOf(recorded: number): number {
  if (recorded === NO_RANK.unranked) return NaN;
  return recorded === NO_RANK.off ? Infinity : recorded;
}

function moveOf(
  compiled: CompiledCatalog,
  record: HappenedRecord,
  recorded: RecordedBoard,
  user: RecordedUser | undefined,
): BoardMove {
  const boardNo = recorded[RECORDED_BOARD.board];
  const board = compiled.leaderboardsByNo.get(boardNo);
  return {
    boardNo,
    runDay: recorded[RECORDED_BOARD.runDay],
    group: recorded[RECORDED_BOARD.group],
    userId: record[RECORD.userId],
    from: rankOf(recorded[RECORDED_BOARD.previousRank]),
    to: rankOf(recorded[RECORDED_BOARD.rank]),
    previousScore: recorded[RECORDED_BOARD.previousScore] ?? null,
    score: recorded[RECORDED_BOARD.score] ?? null,
    previousReached: recorded[RECORDED_BOARD.previousReached],
    reached: recorded[RECORDED_BOARD.reached],
    earned: board === undefined ? null : earnedOn(compiled, board, record),
    atMs: record[RECORD.atMs],
    user,
  };
}

/** What a record added to a user's score, which yields the previous score; `null` if unknown. */
export function earnedOn(compiled: CompiledCatalog, board: Leaderboard, record: HappenedRecord): Micros | null {
  // Hiding or showing a user does not change the score.
  if (record[kindField] === KIND.user && record[RECORD.points] === undefined) return 0n;
  if (board.rankBy === 'metric') return floorOf(board) === 0 ? earnedOfMetric(record) : null;
  if (board.rankBy === 'streak') return whole(earnedOfStreak(compiled, record));
  const system = compiled.pointsSystemsById.get(board.pointsSystemId ?? '')?.no;
  const points = record[RECORD.points]?.find((each) => each[RECORDED_POINTS.system] === system);
  return points === undefined ? null : whole(points[RECORDED_POINTS.after] - points[RECORDED_POINTS.before]);
}

function earnedOfMetric(record: HappenedRecord): Micros | null {
  const value = record[RECORD.value];
  if (value === undefined) return null;
  return toMicros(decimalText({ whole: value[TOTAL.whole], micros: value[TOTAL.micros] }));
}

/** A late event does not say how much longer it makes the streak. */
function earnedOfStreak({ catalog: { streaks } }: CompiledCatalog, record: HappenedRecord): number | null {
  const streak = record[RECORD.streak];
  const lost = record[RECORD.settlements]?.findLast(
    (settlement) =>
      settlement[SETTLEMENT.frequency] === FREQUENCY[streaks.frequency] && settlement[SETTLEMENT.kind] === SETTLED.lost,
  );
  if (lost !== undefined) return (streak?.[RECORDED_STREAK.length] ?? 0) - (lost[SETTLEMENT.length] ?? 0);
  const isUsual = record[kindField] === KIND.event && record[RECORD.occurredDay] === undefined;
  return isUsual && streak?.[RECORDED_STREAK.extended] === 1 ? 1 : null;
}

const whole = (value: number | null): Micros | null => (value === null ? null : toMicros(String(value)));
