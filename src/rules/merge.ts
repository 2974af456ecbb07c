import { clamped, type Decimal } from '../domain/decimal.ts';
import { FREQUENCIES } from '../domain/periods.ts';
import { MOST_STAYS, QUEST_PERIODS } from '../packed/user-fields.ts';
import {
  doubleOf,
  ensureScore,
  groupOf,
  noteReached,
  reachedIn,
  type ScoreChange,
  scoreIn,
  secondaryIn,
} from './leaderboards.ts';
import type { PlanBoard } from './plan.ts';
import { isEqual, plus, reaches } from './sums.ts';
import type { RunOfPlan } from './teams.ts';
import {
  copyStreak,
  type GuardSums,
  type QuestPeriod,
  type QuestProgress,
  type Score,
  type Total,
  type User,
} from './user.ts';

/*
 * A merge: one user, `from`, becomes part of another, `into`. Each field has a rule, which docs/merging-users.md describes: what users earned is
 * added up, of what they have once the earlier one is kept, and of settings `into` decides. A merge awards and completes nothing.
 */

/** What a merge takes from history, and how it looks at leaderboards. */
export interface MergeFacts {
  nowMs: number;
  /** The streaks and freezes that the user has afterwards. */
  streaks: Pick<User, 'streaks' | 'freezes' | 'earnedDay' | 'settledMs' | 'begunDay'>;
  /** Numbers of the leaderboards in whose run that is being rewarded both have a place. Only that of `into` remains. */
  bothRanked: ReadonlySet<number>;
  /** The length of the streak in the configured frequency. */
  length: number;
  /** Number of a repeating achievement → in how many periods either completed it, and the latest time. */
  quests: ReadonlyMap<number, { times: number; latestMs: number }>;
  boards: readonly PlanBoard[];
  /** Whether a run of a leaderboard still takes scores. Others keep those of `into`. */
  isOpen: (run: RunOfPlan) => boolean;
  /** Most device tokens of a user. */
  mostTokens: number;
}

/** The user who has what both had. Changes neither of them, but shares parts with both. */
export function mergeUsers(into: User, from: User, facts: MergeFacts): User {
  const { streaks, freezes, earnedDay, settledMs, begunDay } = facts.streaks;
  const user: User = {
    ...into,
    createdMs: Math.min(into.createdMs, from.createdMs),
    updatedMs: facts.nowMs,
    activeDay: latest(into.activeDay, from.activeDay),
    usedKeys: usedKeysOf(into, from),
    totals: united(into.totals, from.totals, addTotals),
    counts: united(into.counts, from.counts, addTotals),
    points: united(into.points, from.points, add),
    completions: united(into.completions, from.completions, Math.min),
    streaks: Object.fromEntries(FREQUENCIES.map((each) => [each, copyStreak(streaks[each])])) as User['streaks'],
    freezes,
    earnedDay,
    settledMs,
    begunDay,
    pauses: [...into.pauses, ...from.pauses].toSorted((a, b) => a.from - b.from),
    name: into.name ?? from.name,
    ...addressOf(into, from),
    deviceTokens: tokensOf(into, from, facts.mostTokens),
    attributes: new Map([...from.attributes, ...into.attributes]),
    signUp: into.signUp ?? from.signUp,
    notifications: digitsOf(into.notifications, from.notifications),
    hidden: into.hidden | from.hidden,
    quests: united(into.quests, from.quests, addQuests),
    paidMs: paidOf(into, from, facts.bothRanked),
    spent: united(into.spent, from.spent, add),
    holds: [...into.holds, ...from.holds].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    owed: united(into.owed, from.owed, add),
    guarded: united(into.guarded, from.guarded, addGuarded),
    corrections: into.corrections + from.corrections + 1,
    heldUntilMs: null,
    // Changed below; `into` is still compared.
    scores: into.scores.map((score) => ({ ...score })),
    scoreTimes: into.scoreTimes.map((time) => ({ ...time })),
    stays: [...into.stays],
    metadata: into.metadata.map((sent) => ({ ...sent, runs: [...sent.runs] })),
  };
  for (const [no, { times, latestMs }] of facts.quests) {
    const progress = user.quests.get(no);
    if (progress !== undefined) progress.times = times;
    if (times > 0) user.completions.set(no, latestMs);
  }
  for (const board of facts.boards) mergeScores(user, from, board, facts);
  return user;
}

const add = (one: number, other: number): number => clamped({ whole: one + other, micros: 0 }).whole;

/** Both tables; `join` gives the value of a number that both have. */
function united<T>(
  into: ReadonlyMap<number, T>,
  from: ReadonlyMap<number, T>,
  join: (into: T, from: T) => T,
): Map<number, T> {
  const all = new Map(into);
  for (const [no, value] of from) {
    const own = into.get(no);
    all.set(no, own === undefined ? value : join(own, value));
  }
  return all;
}

const latest = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

function usedKeysOf({ usedKeys: into }: User, { usedKeys: from }: User): User['usedKeys'] {
  if (into === null || from === null) return into ?? from;
  if (into.day === from.day) return { day: into.day, count: into.count + from.count };
  return into.day > from.day ? into : from;
}

/** Thresholds that only the sum crosses count as crossed, because a merge awards nothing; those that either crossed stay so. */
function addTotals(into: Total, from: Total): Total {
  const sum = clamped(plus(into, from));
  const peak = Math.max(into.peak ?? into.whole, from.peak ?? from.whole, 0);
  return { ...sum, peak: peak > sum.whole ? peak : null };
}

/** What either was paid for is paid. But a rank of `from` that was rewarded says nothing about that of `into` in the same run. */
function paidOf(into: User, from: User, bothRanked: ReadonlySet<number>): Map<number, number> {
  const paid = united(into.paidMs, from.paidMs, Math.max);
  for (const board of bothRanked) {
    const own = into.paidMs.get(board);
    if (own === undefined) paid.delete(board);
    else paid.set(board, own);
  }
  return paid;
}

/** Without an address of its own, `into` has that of `from`, with its consent. */
const addressOf = (into: User, from: User): Pick<User, 'email' | 'unsubscribed'> =>
  into.email === null && !into.unsubscribed
    ? { email: from.email, unsubscribed: from.unsubscribed }
    : { email: into.email, unsubscribed: into.unsubscribed };

function tokensOf({ deviceTokens: into }: User, { deviceTokens: from }: User, most: number): string | null {
  if (into === null || from === null) return into ?? from;
  const all = [into, from].flatMap((tokens) => JSON.parse(tokens) as string[]);
  return JSON.stringify([...new Set(all)].slice(0, most));
}

/** Preferences that `into` has not set are those of `from`. */
function digitsOf(into: string | null, from: string | null): string | null {
  if (into === null || from === null) return into ?? from;
  return Array.from(into, (digit, at) => (digit === '-' ? (from[at] ?? '-') : digit)).join('');
}

function addQuests(into: QuestProgress, from: QuestProgress): QuestProgress {
  const periods = new Map<number, QuestPeriod>();
  for (const each of [...into.periods, ...from.periods]) {
    const known = periods.get(each.period);
    const sum = known === undefined ? each : clamped(plus(known, each));
    periods.set(each.period, { ...each, ...sum, done: each.done || known?.done === true });
  }
  const newest = [...periods.values()].toSorted((a, b) => b.period - a.period).slice(0, QUEST_PERIODS.most);
  return { times: into.times + from.times, periods: newest };
}

function addGuarded(into: GuardSums, from: GuardSums): GuardSums {
  const sumOf = (at: 'hour' | 'day', sum: 'hourSum' | 'daySum'): Decimal => {
    if (into[at] === from[at]) return clamped(plus(into[sum], from[sum]));
    return into[at] > from[at] ? into[sum] : from[sum];
  };
  return {
    hour: Math.max(into.hour, from.hour),
    hourSum: sumOf('hour', 'hourSum'),
    day: Math.max(into.day, from.day),
    daySum: sumOf('day', 'daySum'),
    lastMs: latest(into.lastMs, from.lastMs),
  };
}

/** Adds the scores of `from` in the open runs of a leaderboard, and moves the user to the group of the merged attributes. */
function mergeScores(user: User, from: User, board: PlanBoard, { isOpen, length }: MergeFacts): void {
  const runs = new Set(
    [...user.scores, ...from.scores].filter((each) => each.board === board.no).map((each) => each.runDay),
  );
  const newest = Math.max(...runs);
  for (const runDay of runs) {
    const run = { board: board.no, runDay };
    if (!isOpen(run)) continue;
    const [own, other] = [scoreIn(user, run), scoreIn(from, run)];
    const [ownTime, otherTime] = [reachedIn(user, run), reachedIn(from, run)];
    const [ownSecondary, otherSecondary] = [secondaryIn(user, board, runDay), secondaryIn(from, board, runDay)];
    const chosen = joined(board, { own, ownTime, ownSecondary, other, otherTime, otherSecondary });
    const secondary = chosen.isOther ? otherSecondary : ownSecondary;
    const value = board.by === 'streak' && runDay === newest ? { whole: length, micros: 0 } : chosen.value;
    const score = ensureScore(user, run, -Infinity);
    Object.assign(score, { whole: value.whole, micros: value.micros, group: groupOf(board, user) ?? '' });
    if (board.ties === true || board.fold === 'last') noteReached(user, run, { reached: chosen.reached, secondary });
    mergeStays(user, from, run);
    mergeMetadata(user, from, run, chosen.isOther);
  }
}

interface TwoScores {
  own: Score | undefined;
  other: Score | undefined;
  ownTime: number;
  otherTime: number;
  ownSecondary: number | null;
  otherSecondary: number | null;
}

/** The score of two, when it was reached, and whether it is that of `from` alone. */
function joined(
  board: PlanBoard,
  { own, ownTime, ownSecondary, other, otherTime, otherSecondary }: TwoScores,
): { value: Decimal; reached: number; isOther: boolean } {
  if (other === undefined) return { value: own!, reached: ownTime, isOther: false };
  if (own === undefined) return { value: other, reached: otherTime, isOther: true };
  const { fold, by } = board;
  // The time of a sum is that of its last event; one of events of the value 0 is negative.
  if (fold === undefined && by !== 'streak')
    return { value: clamped(plus(own, other)), reached: Math.max(ownTime, otherTime), isOther: false };
  if (fold !== 'last' && isEqual(own, other)) {
    const better = (otherSecondary ?? 0) - (ownSecondary ?? 0);
    if (better !== 0) return { value: own, reached: better > 0 ? otherTime : ownTime, isOther: better > 0 };
    return { value: own, reached: Math.min(ownTime, otherTime), isOther: otherTime < ownTime };
  }
  const isOther = fold === 'last' ? otherTime > ownTime : reaches(other, own) === (fold !== 'min');
  return isOther ? { value: other, reached: otherTime, isOther } : { value: own, reached: ownTime, isOther };
}

/** The stays of `from` in a run come first, so that the present team is that of `into`. */
function mergeStays(user: User, from: User, { board, runDay }: RunOfPlan): void {
  const isOf = (each: RunOfPlan): boolean => each.board === board && each.runDay === runDay;
  for (const stay of from.stays.filter(isOf).toReversed()) {
    const own = user.stays.filter(isOf);
    const same = own.find(({ team }) => team === stay.team) ?? (own.length >= MOST_STAYS ? own[0] : undefined);
    if (same === undefined) user.stays.unshift({ ...stay });
    else user.stays = user.stays.map((each) => (each === same ? { ...each, ...plus(each, stay) } : each));
  }
}

/** Events whose metadata a user keeps at most. */
const MOST_METADATA = 32;

/** An entry has the metadata of the user whose score it shows; of a sum, that of `into` if it has any. */
function mergeMetadata(user: User, from: User, { board, runDay }: RunOfPlan, isOther: boolean): void {
  const isOf = (each: RunOfPlan): boolean => each.board === board && each.runDay === runDay;
  const sent = from.metadata.find(({ runs }) => runs.some(isOf));
  const own = user.metadata.find(({ runs }) => runs.some(isOf));
  if (sent === undefined || (own !== undefined && !isOther)) return;
  user.metadata = user.metadata
    .map((each) => ({ ...each, runs: each.runs.filter((run) => !isOf(run)) }))
    .filter(({ runs }) => runs.length > 0);
  const known = user.metadata.find(({ event }) => event === sent.event);
  if (known !== undefined) known.runs.push({ board, runDay });
  else user.metadata.push({ event: sent.event, json: sent.json, runs: [{ board, runDay }] });
  if (user.metadata.length > MOST_METADATA) user.metadata.shift();
}

/** The moves of the remaining user on leaderboards, other than those of runs that are cleared. */
export function mergeMoves(
  before: User,
  after: User,
  boards: readonly PlanBoard[],
  isCleared: (run: RunOfPlan) => boolean,
): ScoreChange[] {
  return boards.flatMap((board) => {
    const scores = [...before.scores, ...after.scores].filter((each) => each.board === board.no && !isCleared(each));
    return [...new Set(scores.map(({ runDay }) => runDay))].flatMap((runDay): ScoreChange | [] => {
      const run = { board: board.no, runDay };
      const [was, is] = [placeOf(before, board, run), placeOf(after, board, run)];
      const isSame = was.reached === is.reached && was.secondary === is.secondary;
      if (was.score === is.score && was.group === is.group && isSame) return [];
      return {
        board,
        runDay,
        group: is.group,
        oldGroup: was.group,
        oldScore: was.score,
        score: is.score,
        onlyGroup: true,
        teams: null,
        oldReached: was.reached,
        reached: is.reached,
        oldSecondary: was.secondary,
        secondary: is.secondary,
      };
    });
  });
}

/** Where a user is in a run. Users who are not ranked have the leaderboard's floor. */
function placeOf(
  user: User,
  board: PlanBoard,
  run: RunOfPlan,
): { group: string; score: number; reached: number | null; secondary: number | null } {
  const score = scoreIn(user, run);
  const floor = board.floor ?? 0;
  const reached = board.ties === true ? reachedIn(user, run) : null;
  const secondary = secondaryIn(user, board, run.runDay);
  if (score === undefined) return { group: '', score: floor, reached, secondary };
  const isRanked = user.hidden === 0 && !(board.groups !== undefined && score.group === '');
  return { group: score.group, score: isRanked ? doubleOf(score) : floor, reached, secondary };
}
