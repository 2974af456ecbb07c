import { clamped, type Decimal, decimalNumber } from '../domain/decimal.ts';
import { groupName } from '../domain/user.ts';
import { dropMetadata, noteMetadata } from './metadata.ts';
import type { PointsMove } from './points.ts';
import type { Plan, PlanBoard } from './plan.ts';
import { secondaryOf } from '../domain/secondary-score.ts';
import { HISTORY_SUM } from '../packed/call-fields.ts';
import { type HistorySum, type Tie, timedMember } from '../packed/state.ts';
import { isEqual, isZero, leavesRange, minus, plus, reaches } from './sums.ts';
import { type RunOfPlan, correct, credit, type TeamMove } from './teams.ts';
import type { Score, ScoreTime, User } from './user.ts';

/*
 * Leaderboards: a user's scores, and how a change of the user moves them. The score is what was earned inside the run. A user who
 * lacks a value of the breakdown is not ranked but keeps the score (group `''`), which counts once there is a value. A user whose
 * value changes moves to the other group with the score.
 */

/** A user's change on a leaderboard. Scores up to the leaderboard's floor are in no sorted set. */
export interface ScoreChange {
  board: PlanBoard;
  runDay: number;
  group: string;
  oldGroup: string;
  oldScore: number;
  score: number;
  /** The record does not contain it: the user only moves to another group, or the score is from history. */
  onlyGroup: boolean;
  teams: TeamMove[] | null;
  /** When the scores were reached (microseconds); only on leaderboards with `ties`. */
  oldReached: number | null;
  reached: number | null;
  /** The rank numbers of the secondary scores; `null` on leaderboards without one. */
  oldSecondary: number | null;
  secondary: number | null;
}

/** What a change of a user is to the leaderboards. */
export interface ScoringChange {
  plan: Pick<Plan, 'boards' | 'firstDay'>;
  nowMs: number;
  /** The user's local day, and the second of it. */
  day: number;
  second: number;
  ledgers: readonly PointsMove[];
  /** Length of the streak in the configured frequency. */
  length: number;
  /** `null` for changes that are not events, which move a score to another group only if they earn something. */
  event: ScoredEvent | null;
  /** The time of the earlier change that this one corrects; `null` for none. */
  correctedMs?: number | null;
}

export interface ScoredEvent {
  value: Decimal;
  /** When it happened, microseconds. Never goes back within a leaderboard, unless it was sent with the event. */
  reached: number;
  /** Event attributes as JSON; absent or `''` for none. */
  attributes?: string;
  /** Of an event with its own time: the second of its local day; of a late one also its runs, by leaderboard. */
  occurred: { second: number; runs: Readonly<Record<number, number>> | null } | null;
  /** What the event sent for the entries; absent for nothing. */
  metadata?: { event: string; json: string };
}

/** Index of the first score on a leaderboard, or where it would be. */
function firstOf({ scores }: User, board: number): number {
  let at = 0;
  while (at < scores.length && scores[at]!.board < board) at += 1;
  return at;
}

export const scoreIn = ({ scores }: Pick<User, 'scores'>, { board, runDay }: RunOfPlan): Score | undefined =>
  scores.find((score) => score.board === board && score.runDay === runDay);

/**
 * The user's score in a run, created with 0 if there is none. Drops scores of runs before `oldest`, because Postgres holds their final
 * scores: it is the oldest run that still accepts events anywhere, or whose sorted sets Redis still holds.
 */
export function ensureScore(user: User, { board, runDay }: RunOfPlan, oldest: number): Score {
  const first = firstOf(user, board);
  let after = first;
  while (user.scores[after]?.board === board) after += 1;
  const own = user.scores.slice(first, after).filter((score) => score.runDay >= oldest);
  let score = own.find((each) => each.runDay === runDay);
  if (score === undefined) {
    score = { board, runDay, group: '', whole: 0, micros: 0 };
    const place = own.findIndex((each) => each.runDay < runDay);
    own.splice(place === -1 ? own.length : place, 0, score);
  } else if (own.length === after - first) return score;
  user.scores.splice(first, after - first, ...own);
  return score;
}

/** The user's group on a leaderboard (`groupName`); `null` if the user lacks a value of the breakdown. */
export function groupOf(
  { groups }: Pick<PlanBoard, 'groups'>,
  { attributes }: Pick<User, 'attributes'>,
): string | null {
  if (groups === undefined) return '';
  const values: string[] = [];
  for (const no of groups) {
    const value = attributes.get(no);
    if (value === undefined) return null;
    values.push(value);
  }
  return groupName(values);
}

const DAY_SECONDS = 86_400;

export function isInside({ from = 0, to = DAY_SECONDS }: PlanBoard, second: number): boolean {
  return from <= to ? second >= from && second < to : second >= from || second < to;
}

const timeIndex = ({ scoreTimes }: User, { board, runDay }: RunOfPlan): number =>
  scoreTimes.findIndex((time) => time.board === board && time.runDay === runDay);

/** When the user reached the score in a run, and its secondary score, as far as it is known. */
export const timeIn = (user: User, run: RunOfPlan): ScoreTime | undefined => user.scoreTimes[timeIndex(user, run)];

/** The user's member in the sorted sets of a run of a leaderboard with `ties`. */
export function timedMemberOf(userId: string, user: User, run: RunOfPlan, hasSecondary: boolean): string {
  const { reached = 0, secondary = 0 } = timeIn(user, run) ?? {};
  return timedMember(userId, reached, hasSecondary ? secondary : null);
}

/** When the user reached the score in a run, microseconds; 0 if unknown. */
export const reachedIn = (user: User, run: RunOfPlan): number => timeIn(user, run)?.reached ?? 0;

/** The rank number of the secondary score in a run, 0 if the user has none; `null` on leaderboards without one. */
export const secondaryIn = (user: User, { no, secondary }: Pick<PlanBoard, 'no' | 'secondary'>, runDay: number) =>
  secondary === undefined ? null : (timeIn(user, { board: no, runDay })?.secondary ?? 0);

/** Notes when a score was reached, and its secondary score. */
export function noteReached(user: User, { board, runDay }: RunOfPlan, { reached, secondary }: Tie): void {
  const at = timeIndex(user, { board, runDay });
  const time = { board, runDay, reached, ...(secondary !== null && { secondary }) };
  if (at === -1) user.scoreTimes.push(time);
  else user.scoreTimes[at] = time;
}

/**
 * When the score was reached that an event makes: of equal best values, the first one counts; of a sum, the last event with a value
 * other than 0, or else the first event. `before`: the time of the previous score, `null` without one.
 */
function reachedBy(
  { fold }: PlanBoard,
  { value, reached }: ScoredEvent,
  { before, isSame }: { before: number | null; isSame: boolean },
): number {
  if (fold === 'last') return Math.max(reached, before ?? 0);
  if (fold !== undefined) return isSame ? Math.min(reached, before!) : reached;
  if (!isZero(value)) return Math.max(reached, before ?? 0);
  return before !== null && before >= 0 ? before : Math.max(-reached, before ?? -reached);
}

/**
 * What an event makes of a user's score on a leaderboard with another aggregate or order than the highest sum. In ascending order,
 * scores are negated. Notes when the score was reached. Returns `null` if the score and, with `ties`, its time stay.
 */
function nextScore(
  board: PlanBoard,
  user: User,
  event: ScoredEvent,
  runDay: number,
): (Decimal & { isFirst: boolean }) | null {
  const { fold } = board;
  const run = { board: board.no, runDay };
  const { whole, micros } = event.value;
  const value = board.sign === undefined ? event.value : { whole: 0 - whole, micros: 0 - micros };
  const before = scoreIn(user, run);
  const next = fold === undefined && before !== undefined ? plus(before, value) : value;
  const isBest = fold === 'max' || fold === 'min';
  let isSame = before !== undefined && isEqual(next, before);
  if (before !== undefined && !isSame && isBest && reaches(before, next) === (fold === 'max')) return null;
  const secondary = board.secondary === undefined ? null : secondaryOf(event.attributes ?? '', board.secondary);
  const knownSecondary = secondaryIn(user, board, runDay);
  if (secondary !== null && isSame && secondary !== knownSecondary) {
    if (isBest && secondary < knownSecondary!) return null;
    isSame = false;
  }
  if (board.ties === true || fold === 'last') {
    const known = reachedIn(user, run);
    const reached = reachedBy(board, event, { before: before === undefined ? null : known, isSame });
    if (fold === 'last' && reached > event.reached) return null;
    noteReached(user, run, { reached, secondary });
    isSame &&= board.ties !== true || reached === known;
  }
  return isSame ? null : { whole: next.whole, micros: next.micros, isFirst: before === undefined };
}

export const doubleOf = (score: Decimal): number => (score.micros === 0 ? score.whole : decimalNumber(score));

/** A user's score in a run by history. `whole` is the leaderboard's floor if the user has none. */
export interface RunScore extends Decimal {
  runDay: number;
  /** Microseconds; `null` if unknown. */
  reached: number | null;
  /** The rank number of the secondary score; absent for none. */
  secondary?: number;
}

export const runScore = (sum: HistorySum): RunScore => ({
  runDay: sum[HISTORY_SUM.runDay],
  whole: sum[HISTORY_SUM.whole],
  micros: sum[HISTORY_SUM.micros],
  reached: sum[HISTORY_SUM.reached] ?? null,
  secondary: sum[HISTORY_SUM.secondary] ?? 0,
});

/** Replaces the user's score in a run. One that equals the leaderboard's floor is removed. */
export function putScore(
  user: User,
  board: PlanBoard,
  group: string,
  { runDay, whole, micros, reached: known, secondary: knownSecondary = 0 }: RunScore,
): PutScore {
  const run = { board: board.no, runDay };
  const floor = board.floor ?? 0;
  const before = scoreIn(user, run);
  const old = {
    oldGroup: before?.group ?? '',
    oldScore: before === undefined ? floor : doubleOf(before),
    oldReached: board.ties === true ? reachedIn(user, run) : null,
    oldSecondary: secondaryIn(user, board, runDay),
  };
  if (whole === board.floor) {
    user.scores = user.scores.filter((score) => score !== before);
    dropMetadata(user, (each) => each.board === board.no && each.runDay === runDay);
    return { ...old, score: floor, reached: old.oldReached, secondary: old.oldSecondary };
  }
  const score = ensureScore(user, run, -Infinity);
  Object.assign(score, { group, whole, micros });
  const reached = board.ties === true && (known ?? 0) === 0 ? old.oldReached : known;
  const secondary = board.secondary === undefined ? null : knownSecondary;
  if (board.fold === 'last' || board.ties === true) noteReached(user, run, { reached: reached ?? 0, secondary });
  // Another event may have made this score, and only the state has what events sent.
  const put = { ...old, score: doubleOf(score), reached: board.ties === true ? reached : null, secondary };
  if (!isSamePlace(put)) noteMetadata(user, board, { runDay, sent: null });
  return put;
}

type PutScore = Pick<
  ScoreChange,
  'oldScore' | 'score' | 'oldGroup' | 'oldReached' | 'reached' | 'oldSecondary' | 'secondary'
>;

/** Whether neither the score nor what decides between equal scores has changed. */
export const isSamePlace = (put: Omit<PutScore, 'oldGroup'>): boolean =>
  put.score === put.oldScore && put.reached === put.oldReached && put.secondary === put.oldSecondary;

/** Adds what a change earned to the user's scores. `leftRange`: a leaderboard of the metric whose score left its range. */
export function scoreBoards(user: User, change: ScoringChange): { changes: ScoreChange[]; leftRange: number | null } {
  const result: { changes: ScoreChange[]; leftRange: number | null } = { changes: [], leftRange: null };
  const row = change.day - change.plan.firstDay;
  for (const board of change.plan.boards) {
    const runDay = runOf(board, row, change.event);
    if (runDay === undefined || runDay < 0) continue;
    const moved = scoreBoard(user, board, runDay, change);
    if (moved === null) continue;
    if (moved.leftRange) result.leftRange = board.no;
    if (moved.change !== null) result.changes.push(moved.change);
  }
  return result;
}

function runOf(board: PlanBoard, row: number, event: ScoredEvent | null): number | undefined {
  const lateRuns = (board.by === 'metric' ? event?.occurred?.runs : null) ?? null;
  return lateRuns === null ? board.runs[row] : lateRuns[board.no];
}

/** What a change earns on a leaderboard; `null` for nothing. */
type Earned =
  /** Added to the score. */
  | { add: Decimal }
  /** The new score. */
  | { put: Decimal; isFirst: boolean }
  | null;

function earnedOn(user: User, board: PlanBoard, runDay: number, change: ScoringChange): Earned {
  const { event, ledgers, length } = change;
  const second = board.by === 'metric' ? (event?.occurred?.second ?? change.second) : change.second;
  if (!isInside(board, second)) return null;
  switch (board.by) {
    case 'metric': {
      if (event === null) return null;
      if (board.floor === undefined) return isZero(event.value) ? null : { add: event.value };
      const next = nextScore(board, user, event, runDay);
      return next === null ? null : { put: next, isFirst: next.isFirst };
    }
    case 'points': {
      const ledger = ledgers.find(({ system }) => system.no === board.system);
      const points = ledger === undefined ? 0 : ledger.total - ledger.before;
      return points === 0 ? null : { add: { whole: points, micros: 0 } };
    }
    case 'streak': {
      const newest = user.scores[firstOf(user, board.no)];
      const before = newest?.board === board.no ? newest.whole : 0;
      return before === length ? null : { put: { whole: length, micros: 0 }, isFirst: false };
    }
    case 'none':
      return null;
  }
}

function scoreBoard(
  user: User,
  board: PlanBoard,
  runDay: number,
  change: ScoringChange,
): { change: ScoreChange | null; leftRange: boolean } | null {
  const run = { board: board.no, runDay };
  const { event } = change;
  const hasTimes = board.ties === true && board.floor !== undefined;
  const oldReached = hasTimes ? reachedIn(user, run) : null;
  const oldSecondary = secondaryIn(user, board, runDay);
  const earned = earnedOn(user, board, runDay, change);
  const group = groupOf(board, user);
  const known = earned === null && board.groups !== undefined && group !== null ? scoreIn(user, run) : undefined;
  const isMoved = event !== null && known !== undefined && known.group !== group;
  if (earned === null && !isMoved) return null;

  const score = ensureScore(user, run, board.kept ?? board.runs[0]!);
  const oldGroup = score.group;
  const isFirst = earned !== null && 'put' in earned && earned.isFirst;
  let oldScore = isFirst ? board.floor! : doubleOf(score);
  const { leftRange, teams } = earned === null ? NOTHING : applyEarned(user, board, { score, earned, change });
  if (earned !== null && (event?.metadata !== undefined || user.metadata.length > 0))
    noteMetadata(user, board, { runDay, sent: event?.metadata ?? null });
  if (group === null) return { change: null, leftRange };
  if (board.groups !== undefined && oldGroup === '') oldScore = board.floor ?? 0;
  score.group = group;
  // Hidden users have the same scores as others, but are in no sorted set.
  if (user.hidden > 0) return { change: null, leftRange };
  const reached = hasTimes ? reachedIn(user, run) : null;
  return {
    change: {
      board,
      runDay,
      group,
      oldGroup,
      oldScore,
      score: doubleOf(score),
      onlyGroup: earned === null,
      teams,
      oldReached,
      reached,
      oldSecondary,
      secondary: secondaryIn(user, board, runDay),
    },
    leftRange,
  };
}

const NOTHING = { leftRange: false, teams: null };

/** Changes a score. A score of points is limited to the range of sums, as points are. */
function applyEarned(
  user: User,
  board: PlanBoard,
  { score, earned, change }: { score: Score; earned: NonNullable<Earned>; change: ScoringChange },
): { leftRange: boolean; teams: TeamMove[] | null } {
  if ('put' in earned) {
    score.whole = earned.put.whole;
    score.micros = earned.put.micros;
    const isSum = board.by === 'metric' && board.fold === undefined;
    const sign = board.sign ?? 1;
    const added = change.event?.value ?? { whole: 0, micros: 0 };
    return {
      leftRange: isSum && leavesRange(score, { whole: sign * added.whole, micros: sign * added.micros }),
      teams: null,
    };
  }
  let sum = plus(score, earned.add);
  const leftRange = board.by === 'metric' && leavesRange(sum, earned.add);
  if (board.by === 'points') sum = clamped(sum);
  const added = minus(sum, score);
  score.whole = sum.whole;
  score.micros = sum.micros;
  if (board.team === undefined) return { leftRange, teams: null };
  const { runDay } = score;
  const { correctedMs = null, nowMs } = change;
  const teams =
    correctedMs === null
      ? credit(user, board, { runDay, earned: added, nowMs })
      : correct(user, board, { runDay, earned: added, atMs: correctedMs });
  return { leftRange, teams };
}

/**
 * Removes scores of leaderboards that no longer exist, and the times of scores that are gone, at the first event of a UTC day;
 * otherwise they would stay forever. A leaderboard with a number above the newest belongs to a newer catalog.
 */
export function dropGoneBoards(user: User, { present, firstDay }: Plan): void {
  if (present === undefined || user.updatedMs >= (firstDay + 1) * 86_400_000) return;
  const isPresent = ({ board }: { board: number }): boolean => board > present.newest || present.boards[board] === true;
  user.scores = user.scores.filter(isPresent);
  user.stays = user.stays.filter(isPresent);
  const times = user.scoreTimes;
  // Until a run is cleared, usually a day after its end, its sets hold members by time, although their scores are gone. So times are
  // kept until another run has followed for a week.
  const endedLongAgo = ({ board, runDay }: RunOfPlan): boolean =>
    times.some((later) => later.board === board && later.runDay > runDay && later.runDay < firstDay - 6);
  user.scoreTimes = times.filter(
    (time) => isPresent(time) && (!endedLongAgo(time) || scoreIn(user, time) !== undefined),
  );
  dropMetadata(user, (run) => scoreIn(user, run) === undefined);
}
