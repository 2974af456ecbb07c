import { changedAchievements } from '../../rules/achievements.ts';
import { holds } from '../../rules/conditions.ts';
import type { OwnBoosts } from '../../rules/points.ts';
import type { User } from '../../rules/user.ts';
import type { TriggerType } from '../../domain/rule-kinds.ts';
import { dayIn } from '../../domain/zone.ts';
import { packedTaken } from '../../packed/packed-arrays.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type { PackedCompletion } from '../../packed/record.ts';
import type { AwardSum, FixedAward, TimedAward } from '../../postgres/corrections/recomputation-history.ts';
import { HistoryLedger, type TriggerPoints } from './ledger.ts';
import { dayOfSegment, type OpenBoard, segmentOf } from './open-boards.ts';
import { plannedScores, type ScoreDifferences } from './planned-scores.ts';
import { latestExcept, type UserPlan } from './planned-user.ts';
import type { Rules } from './rules.ts';
import { type ImportedPast, payGained, type QuestPeriod, UserReplay } from './user-replay.ts';

export interface PlanRules {
  rules: Rules;
  /** Whether points are recomputed; false: only those of achievements that change. */
  points: boolean;
  achievements: boolean;
  /** The boards whose open runs are recomputed; `null`: awards change boards in the run of the day of application. */
  boards: readonly OpenBoard[] | null;
  /** Where segments of time begin (epoch days), see `boundsOf`; without bounds awards are dated on application. */
  bounds: readonly number[];
  mayRevoke: boolean;
  /** The first local day (epoch day) of which awards and completions may change. */
  sinceDay: number;
  nowMs: number;
  /** By number: types of the triggers, including deleted ones, that pay for events and their consequences. */
  triggers: ReadonlyMap<number, TriggerType>;
}

export interface UserHistory {
  user: User;
  /** The imported history, whose awards are not listed here; `null` if there is none. */
  imported: ImportedPast | null;
  /** Oldest first. */
  completions: readonly PackedCompletion[];
  awards: readonly AwardSum[];
  fixed: readonly FixedAward[];
  /** What repeating achievements paid; empty unless only the points of achievements are recomputed. */
  questAwards: readonly TimedAward[];
  /** The user's own boosts; `null` for none. */
  boosts: OwnBoosts | null;
  longestStreak: number;
  /** Whether the streak follows from the events, without corrections. */
  streakAsLived: boolean;
  /** On boards that are recomputed. */
  scores: ScoreDifferences;
}

/** The planning of one user. `replay` is fed with each of the user's events. */
export interface UserPlanning {
  by: PlanRules;
  of: UserHistory;
  ledgers: readonly HistoryLedger[];
  replay: UserReplay;
}

/** Begins the planning of a user, before the user's events are read. */
export function beginUserPlanning(by: PlanRules, of: UserHistory): UserPlanning {
  const { user } = of;
  const ledgers = by.rules.systems.map((system) => {
    const since = of.awards.filter(({ systemNo }) => systemNo === system.no);
    // The user's total before the first day or, if only points of achievements change, the current total.
    const earlier = by.points ? since.reduce((sum, { awarded }) => sum + awarded, 0) : 0;
    return new HistoryLedger(system, {
      user,
      total: (user.points.get(system.no) ?? 0) - earlier,
      boosts: [...system.boosts, ...(of.boosts?.[system.no] ?? [])],
      segmentOf: (day) => segmentOf(by.bounds, day),
      isSeparate: !by.points,
    });
  });
  const replay = new UserReplay({
    rules: by.rules,
    user,
    ledgers: by.points ? ledgers : [],
    completions: by.points ? of.completions : [],
    fixed: by.points ? of.fixed : [],
    sinceDay: by.sinceDay,
    imported: of.imported,
    mayLose: by.achievements && by.mayRevoke,
  });
  return { by, of, ledgers, replay };
}

/** The proposed changes, when all events were read; `null` if there are none. */
export function planOf(planning: UserPlanning): UserPlan | null {
  const { by, of, ledgers, replay } = planning;
  const { user } = of;
  const { gained: complete, periods, lost } = changesOf(planning);
  const gained = [...complete, ...periods.map(({ no }) => no)];
  const today = dayIn(user.zone, by.nowMs);
  if (by.points) replay.finish(gained, lost, today);
  else payGained(ledgers, user, gained, today);
  const revoke = [...lost];
  const changed = new Set([...gained, ...revoke.map((each) => each[COMPLETED.achievement])]);
  const { awards, totals } = pointsOf(planning, { changed, lost, today });
  const keeps = !by.mayRevoke;
  const scores = plannedScores(by.boards ?? [], {
    user,
    differences: of.scores,
    awards: awards.map(({ award }) => award),
    keeps,
  });
  if (gained.length + revoke.length + awards.length + scores.length === 0) return null;
  // A reversal keeps a score's difference from history, but changes what is paid and completed.
  const rests = gained.length + revoke.length + awards.length > 0;
  return {
    complete,
    ...(periods.length > 0 && { periods }),
    ...(revoke.some((each) => each[COMPLETED.period]) && { latest: latestExcept(of.completions, revoke) }),
    revoke,
    awards,
    scores,
    keeps,
    totals,
    ...(rests && { corrections: user.corrections }),
  };
}

/** The numbers of achievements to complete, the periods of repeating ones, and the completions to revoke. */
function changesOf(planning: UserPlanning): {
  gained: number[];
  periods: QuestPeriod[];
  lost: ReadonlySet<PackedCompletion>;
} {
  const { by, of, replay } = planning;
  const { user } = of;
  if (!by.achievements) return { gained: [], periods: [], lost: new Set() };
  const mayRevoke = (atMs: number): boolean =>
    by.mayRevoke && atMs > (of.imported?.atMs ?? -1) && dayIn(user.zone, atMs) >= by.sinceDay;
  const quests = questChanges(planning, mayRevoke);
  const reached = { highestCount: (no: number) => replay.highestCount(no), longestStreak: of.longestStreak };
  const { gained, lost } = changedAchievements(
    { ...user, completions: quests.completions },
    by.rules.achievements,
    reached,
    (no) => mayRevoke(user.completions.get(no) ?? 0),
  );
  const revoked = of.completions.filter((each) => lost.includes(each[COMPLETED.achievement]));
  return { gained, periods: quests.periods, lost: new Set([...quests.lost, ...revoked]) };
}

/** The same for repeating achievements; `completions`: all of the user's afterwards, by number. */
function questChanges(
  { by, of, replay }: UserPlanning,
  mayRevoke: (atMs: number) => boolean,
): { periods: QuestPeriod[]; lost: PackedCompletion[]; completions: Map<number, number> } {
  const { user } = of;
  const completions = new Map(user.completions);
  const periods: QuestPeriod[] = [];
  const lost: PackedCompletion[] = [];
  const sums = replay.highestSums();
  const importedDay = of.imported === null ? -Infinity : dayIn(user.zone, of.imported.atMs);
  for (const { no, users, requires = [], wanted, firstDay, lastDay } of [...by.rules.quests.values()].flat()) {
    const own = of.completions.filter((each) => each[COMPLETED.achievement] === no);
    const fulfilled = sums.filter((each) => each.no === no && each.peak >= wanted && holds(users, user));
    const fulfilledPeriods = new Set(fulfilled.map(({ period }) => period));
    const known = new Set(own.map((each) => each[COMPLETED.period]));
    const openDay = Math.max(by.sinceDay, ...requires.map((required) => completionDay(of, required)));
    const gained = fulfilled.filter(({ period }) => !known.has(period) && lastDay(period) >= openDay);
    periods.push(...gained.map(({ period }) => ({ no, period })));
    // Of the period of an import, only the events after it are known.
    const missed = own.filter((each) => {
      const period = each[COMPLETED.period] ?? 0;
      return !fulfilledPeriods.has(period) && mayRevoke(each[COMPLETED.atMs]) && firstDay(period) > importedDay;
    });
    lost.push(...missed);
    if (gained.length > 0) completions.set(no, by.nowMs);
    else if (own.length > 0 && missed.length === own.length) completions.delete(no);
  }
  return { periods, lost, completions };
}

/** The local day (epoch day) of the user's first completion; `Infinity` without one. */
function completionDay({ completions, user }: UserHistory, no: number): number {
  const first = completions.find((each) => each[COMPLETED.achievement] === no);
  return first === undefined ? Infinity : dayIn(user.zone, first[COMPLETED.atMs]);
}

/** The differences between each trigger's points and those in history, for systems whose total changes and may change. */
function pointsOf(
  planning: UserPlanning,
  changes: { changed: ReadonlySet<number>; lost: ReadonlySet<PackedCompletion>; today: number },
): Pick<UserPlan, 'awards' | 'totals'> {
  const { by, of, ledgers } = planning;
  const { changed, lost, today } = changes;
  const awards: UserPlan['awards'] = [];
  const totals: UserPlan['totals'] = {};
  for (const ledger of ledgers) {
    const { no: systemNo, achievement: triggers } = ledger.system;
    const moved = difference(planning, ledger, lost);
    const sum = moved.reduce((all, { points }) => all + points, 0);
    if (!differs(moved) || (sum < 0 && !by.mayRevoke)) continue;
    const from = of.user.points.get(systemNo) ?? 0;
    if (sum !== 0) totals[systemNo] = [from, Math.max(0, from + sum)];
    const paidFor = new Map(triggers.map((trigger) => [trigger.no, trigger.achievement ?? 0]));
    for (const { triggerNo, segment, points } of moved) {
      const achievement = paidFor.get(triggerNo);
      const day = by.boards === null ? undefined : dayOfSegment(by.bounds, segment, today);
      awards.push({
        award: packedTaken({ systemNo, triggerNo, points: -points, day }),
        ...(achievement !== undefined && changed.has(achievement) && { achievement }),
      });
    }
  }
  return { awards, totals };
}

/** The points of each trigger in a system by the current rules, minus those in history. */
function difference(
  { by, of }: UserPlanning,
  ledger: HistoryLedger,
  lost: ReadonlySet<PackedCompletion>,
): TriggerPoints[] {
  const { awarded: given } = ledger;
  const taken = [
    ...of.awards.filter(({ triggerNo }) => isCounted(by, ledger, triggerNo, lost)),
    ...paidForLost(of, ledger, lost),
  ];
  for (const { systemNo, triggerNo, segment, awarded } of taken)
    if (systemNo === ledger.system.no) given.add({ triggerNo, segment, points: -awarded });
  const { streakAsLived } = of;
  return [...given.sums()].filter(({ triggerNo }) => streakAsLived || by.triggers.get(triggerNo) !== 'streak');
}

function isCounted(
  by: PlanRules,
  { system }: HistoryLedger,
  triggerNo: number,
  lost: ReadonlySet<PackedCompletion>,
): boolean {
  if (by.points) return by.triggers.has(triggerNo);
  const once = [...lost].filter((each) => !each[COMPLETED.period]).map((each) => each[COMPLETED.achievement]);
  return system.achievement.some(({ no, achievement = 0 }) => no === triggerNo && once.includes(achievement));
}

/** The awards for the lost completions of repeating achievements. A recomputation pays for several at the same time. */
function paidForLost(
  { questAwards }: UserHistory,
  { system }: HistoryLedger,
  lost: ReadonlySet<PackedCompletion>,
): TimedAward[] {
  return system.achievement.flatMap(({ no, achievement, points }) => {
    const counts = new Map<number, number>();
    for (const each of lost) {
      const atMs = each[COMPLETED.atMs];
      if (each[COMPLETED.achievement] === achievement) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
    }
    return [...counts].flatMap(([atMs, count]) =>
      questAwards
        .filter((award) => award.triggerNo === no && award.atMs === atMs && award.awarded * points > 0)
        .slice(0, count),
    );
  });
}

/** Whether the points differ, in total or in a segment of time. */
function differs(moved: readonly TriggerPoints[]): boolean {
  const sums = new Map<number, number>();
  for (const { segment, points } of moved) sums.set(segment, (sums.get(segment) ?? 0) + points);
  return [...sums.values()].some((sum) => sum !== 0);
}
