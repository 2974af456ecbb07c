import type { Catalog, Leaderboard } from '../../src/domain/catalog.ts';
import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';
import { completes } from './achievements.ts';
import { groupOf, noScore, reachedAt, scoreOf, showLength, standings, thresholdOf } from './boards.ts';
import { addDays, runOf, wall, type LocalDate, type Run } from './calendar.ts';
import { micros, wire } from './decimals.ts';
import { awards, expire, expiryTimes, isOutOfPoints, levelOf, type Step } from './points.ts';
import { finalMs, type ModelLeagues } from './leagues.ts';
import { completedPeriod, isQuest } from './quests.ts';
import { rewardedIn, runsToReward } from './rank-rewards.ts';
import { streakAnswer } from './streak-answer.ts';
import { bringTo, countsFor, extend, firstStreaks, jump, type Streaks } from './streak.ts';
import { endedPeriods } from './time-passing.ts';
import { pointsOf, totalOf, type Metadata, type ModelUser } from './user.ts';
import { beginWeeksOn } from './week-start.ts';
import { nextCount, yearsOver } from './years.ts';

export interface SentUser {
  id: string;
  /** '' clears it. */
  tz?: string;
  attributes?: Record<string, string>;
  signUpDate?: LocalDate;
}

export interface SentEvent {
  metricKey: string;
  user: SentUser;
  value: number;
  attributes: Record<string, string>;
  key: string | null;
  metadata: Metadata | null;
}

/** A user's preferences about streaks. */
export type Preferences = ModelUser['prefers'] & { daysOff?: readonly number[] };

type Answer = Record<string, unknown>;

/** The zone in which a day begins first. */
const EARLIEST_ZONE = 'Etc/GMT-14';

/** Laurel as its specification describes it: slow, in memory, sequential. */
export class LaurelModel {
  catalog: Catalog;
  nowMs: number;
  readonly users = new Map<string, ModelUser>();
  /** Absent: no leaderboard has leagues. */
  leagues?: ModelLeagues;
  private events = 0;

  constructor(catalog: Catalog, nowMs: number) {
    this.catalog = catalog;
    this.nowMs = nowMs;
  }

  /**
   * Advances time: pays users for periods of `time` triggers that end meanwhile, counts their years, lets points expire at the
   * start of each UTC day, and rewards the ranks of runs that become final.
   */
  clockTo(nowMs: number): void {
    let afterMs = this.nowMs;
    for (const { board, run } of runsToReward(this.catalog, { afterMs, toMs: nowMs })) {
      this.passAll({ afterMs, toMs: finalMs(run), nowMs });
      afterMs = finalMs(run);
      for (const { user, rules } of rewardedIn(this, board, run)) this.rewardRank(user, rules, afterMs);
    }
    this.passAll({ afterMs, toMs: nowMs, nowMs });
    this.nowMs = nowMs;
    this.leagues?.clockTo(nowMs);
  }

  /** Everything but rewards for ranks, between two times. Holds that are open at `nowMs` keep their points. */
  private passAll({ afterMs: fromMs, toMs, nowMs }: { afterMs: number; toMs: number; nowMs: number }): void {
    for (const user of this.users.values()) {
      let afterMs = fromMs;
      for (const midnightMs of expiryTimes(this.catalog, { afterMs, toMs })) {
        this.pass(user, { afterMs, toMs: midnightMs });
        expire(this.catalog, user, { midnightMs, nowMs });
        afterMs = midnightMs;
      }
      this.pass(user, { afterMs, toMs });
    }
  }

  /** Gives a user what rules for a final rank say, and what follows from it. */
  private rewardRank(user: ModelUser, rules: readonly string[], atMs: number): void {
    const here = wall(atMs, user.tz);
    const given = this.catalog.achievements
      .filter(
        ({ id, requires }) =>
          rules.includes(id) && !user.completed.has(id) && requires.every((each) => user.completed.has(each)),
      )
      .map(({ id }) => id);
    const completed = given.length === 0 ? [] : completes(this.catalog, user, null, given, { today: here.date });
    const ranked = this.catalog.triggers.filter(({ id }) => rules.includes(id)).map(({ id }) => id);
    if (completed.length === 0 && ranked.length === 0) return;
    bringTo(user, here.date, this.catalog);
    const step = { atMs, ...here, created: false, before: user, after: user, extendedTo: null, completed, ranked };
    const changed = this.award(step);
    if (completed.length === 0 && Object.keys(changed).length === 0) return;
    this.noteCompleted(user, completed, { atMs, date: here.date });
    this.show(user, atMs);
  }

  private pass(user: ModelUser, { afterMs, toMs }: { afterMs: number; toMs: number }): void {
    for (const [atMs, ended] of endedPeriods(this.catalog, user, { afterMs, toMs })) {
      this.countYears(user, atMs - 1);
      const here = wall(atMs, user.tz);
      this.award({
        atMs,
        ...here,
        created: false,
        before: user,
        after: user,
        extendedTo: null,
        completed: [],
        ended,
      });
    }
    this.countYears(user, toMs);
  }

  /** Counts full years since the user signed up, each when it is over, up to a time; anniversaries complete. */
  private countYears(user: ModelUser, toMs: number): void {
    for (let atMs = nextCount(user); atMs <= toMs; atMs = nextCount(user)) {
      const here = wall(atMs, user.tz);
      user.signUp!.years = yearsOver(user.signUp!, user.tz, atMs);
      bringTo(user, here.date, this.catalog);
      const completed = completes(this.catalog, user, null, [], { isCount: true, today: here.date });
      this.award({ atMs, ...here, created: false, before: user, after: user, extendedTo: null, completed });
      this.noteCompleted(user, completed, { atMs, date: here.date });
      this.show(user, atMs);
    }
  }

  /** Replaces the streak settings: what the clock did until now depends on the previous ones. */
  setStreaks(streaks: StreakSettings): void {
    for (const id of this.users.keys()) this.settledStreaks(id);
    const earning = ({ freezes: { enabled, autoEarnInterval, autoEarnAmount } }: StreakSettings): string =>
      JSON.stringify([enabled, autoEarnInterval, autoEarnAmount]);
    const before = this.catalog.streaks;
    const isNew = earning(streaks) !== earning(before);
    const streaksBefore = [...(this.catalog.streaksBefore ?? []), { streaks: before, untilMs: this.nowMs }];
    this.catalog = { ...this.catalog, streaks, streaksBefore, ...(isNew && { earnSince: this.nowMs }) };
    if (streaks.weekStart === before.weekStart) return;
    for (const user of this.users.values()) beginWeeksOn(streaks.weekStart, user, wall(this.nowMs, user.tz).date);
  }

  /** Records an event; null: refused. */
  event({ metricKey, user: sent, value, attributes, key, metadata }: SentEvent): Answer | null {
    // A day that has not begun in any zone is invalid: this precedes replays.
    if (sent.signUpDate !== undefined && sent.signUpDate > wall(this.nowMs, EARLIEST_ZONE).date) return null;
    const metricId = this.catalog.metrics.find((metric) => metric.key === metricKey)!.id;
    const known = this.users.get(sent.id);
    if (key !== null && known?.events.some((event) => event.key === key && event.metricId === metricId) === true) {
      const currentStreak = { ...this.streak(known), extended: false };
      const nothing = { achievements: [], points: {}, leaderboards: {} };
      return { status: 202, total: wire(totalOf(known, metricId)), currentStreak, ...nothing };
    }
    const before = this.upserted(sent);
    if (before === null) return null;
    const here = wall(this.nowMs, before.tz);
    const amount = micros(value);
    const after = structuredClone(before);
    const { frequency } = this.catalog.streaks;
    const counts = countsFor(here.date, after, this.catalog);
    after.events.push({
      no: (this.events += 1),
      atMs: this.nowMs,
      ...here,
      metricId,
      amount,
      team: after.attributes['plan'] ?? '',
      attributes,
      key,
      counts,
      weekStart: this.catalog.streaks.weekStart,
    });
    after.looks.push({ atMs: this.nowMs, ...here, attributes: { ...after.attributes }, on: 'all' });
    const extended = extend(after, this.catalog, this.nowMs).includes(frequency);
    const { length } = after.streaks.tracks[frequency];
    const completed = completes(this.catalog, after, length, [], { today: here.date });
    const extendedTo = extended ? length : null;
    const step: Step = {
      atMs: this.nowMs,
      ...here,
      created: known === undefined,
      before,
      after,
      extendedTo,
      completed,
    };
    if (isOutOfPoints(this.catalog, step)) return null;
    const points = this.settle(step);
    this.noteMetadata(known ?? null, after, metadata);
    return {
      status: 201,
      total: wire(totalOf(after, metricId)),
      currentStreak: { ...this.streak(after), extended },
      achievements: completed.toSorted(),
      points,
      leaderboards: this.boards(known ?? null, after),
    };
  }

  /** Completes an achievement by call; null: refused. */
  complete(key: string, sent: SentUser): Answer | null {
    const { id, requires } = this.catalog.achievements.find((achievement) => achievement.key === key)!;
    const after = this.upserted(sent)!;
    const created = !this.users.has(sent.id);
    if (after.completed.has(id)) {
      this.users.set(after.id, after);
      return { achievedAt: after.completed.get(id), points: {} };
    }
    if (requires.some((required) => !after.completed.has(required))) return null;
    const here = wall(this.nowMs, after.tz);
    const completed = completes(this.catalog, after, null, [id], { today: here.date });
    const step = { atMs: this.nowMs, ...here, created, before: after, after, extendedTo: null, completed };
    if (isOutOfPoints(this.catalog, step)) return null;
    return { achievedAt: this.nowMs, points: this.settle(step) };
  }

  /** Creates a user or sets fields of one; whether it was accepted. */
  upsert(sent: SentUser): boolean {
    const after = this.upserted(sent);
    if (after === null) return false;
    const created = !this.users.has(sent.id);
    const here = wall(this.nowMs, after.tz);
    const { tz, attributes, signUpDate } = sent;
    const isAsked = created || [tz, attributes, signUpDate].some((field) => field !== undefined);
    // An empty request changes nothing.
    if (!isAsked) return true;
    this.settle({ atMs: this.nowMs, ...here, created, before: after, after, extendedTo: null, completed: [] });
    return true;
  }

  /** Merges preferences into those of a known user; null: users must not have this preference. */
  prefer(userId: string, { daysOff, ...prefers }: Preferences): Answer | null {
    const { personalization } = this.catalog.streaks;
    if (!personalization && (daysOff !== undefined || prefers.evaluationMode !== undefined)) return null;
    const after = this.upserted({ id: userId })!;
    after.prefers = { ...after.prefers, ...prefers };
    if (daysOff !== undefined) this.preferDaysOff(after, daysOff);
    this.show(after);
    this.users.set(userId, after);
    if (!personalization) return { enabled: after.prefers.enabled ?? true };
    const shown = this.catalog.streaks.frequency === 'daily' ? after.daysOff : null;
    return { enabled: true, ...after.prefers, ...(shown !== null && { daysOff: shown.days }) };
  }

  /** Days off that apply from the user's next midnight. */
  private preferDaysOff(user: ModelUser, days: readonly number[]): void {
    const { date: today } = wall(this.nowMs, user.tz);
    const { daysOff: own } = user;
    const before = own === null ? null : today >= own.from ? own.days : own.before;
    user.daysOff = { days, from: addDays(today, 1), before };
  }

  /** The user's current streak. */
  streak(user: ModelUser): Answer {
    const { date } = wall(this.nowMs, user.tz);
    bringTo(user, date, this.catalog);
    return streakAnswer(user, date, this.catalog);
  }

  /** A user's streaks advanced to now, and the local date; null for an unknown user. */
  settledStreaks(userId: string): { streaks: Streaks; today: LocalDate } | null {
    const user = this.users.get(userId);
    if (user === undefined) return null;
    const { date: today } = wall(this.nowMs, user.tz);
    bringTo(user, today, this.catalog);
    return { streaks: user.streaks, today };
  }

  /** Leaderboards show the streak of a user that was evaluated. */
  show(user: ModelUser, atMs = this.nowMs): void {
    user.streaks.unseen = [];
    const { length } = user.streaks.tracks[this.catalog.streaks.frequency];
    this.showOn(user, { length, on: wall(atMs, user.tz).date }, atMs);
  }

  /** Evaluates users for whom the beginning of a day changed something, on that day, if nothing else did. */
  sweep(): void {
    const { frequency } = this.catalog.streaks;
    for (const [id, user] of this.users) {
      const { streaks } = this.settledStreaks(id)!;
      for (const { on, lengths } of streaks.unseen) this.showOn(user, { length: lengths[frequency], on });
      streaks.unseen = [];
    }
  }

  private showOn(user: ModelUser, { length, on }: { length: number; on: LocalDate }, atMs = this.nowMs): void {
    if (showLength(this.catalog, user, { length, on }).length === 0) return;
    const here = wall(atMs, user.tz);
    user.looks.push({ atMs, ...here, attributes: { ...user.attributes }, on: 'streaks' });
  }

  /** A copy of the user with the sent fields; null: they are refused. */
  private upserted({ id, tz: sentZone, attributes = {}, signUpDate }: SentUser): ModelUser | null {
    const tz = sentZone === '' ? null : sentZone;
    const known = this.users.get(id);
    const user: ModelUser =
      known !== undefined
        ? structuredClone(known)
        : {
            id,
            tz: tz ?? null,
            attributes: {},
            looks: [],
            metadata: new Map(),
            events: [],
            awards: [],
            levels: [],
            spendings: [],
            shown: new Map(),
            completed: new Map(),
            quests: new Map(),
            prefers: {},
            daysOff: null,
            signUp: null,
            travelled: false,
            weeksShifted: false,
            streaks: firstStreaks(this.catalog, this.nowMs, wall(this.nowMs, tz ?? null).date),
          };
    if (signUpDate !== undefined && signUpDate > wall(this.nowMs, tz === undefined ? user.tz : tz).date) return null;
    if (signUpDate !== undefined && signUpDate !== user.signUp?.date)
      user.signUp = { date: signUpDate, years: 0, setMs: this.nowMs };
    Object.assign(user.attributes, attributes);
    bringTo(user, wall(this.nowMs, user.tz).date, this.catalog);
    if (tz !== undefined && tz !== user.tz) {
      user.tz = tz;
      if (user.signUp !== null) user.signUp.setMs = this.nowMs;
      jump(user, wall(this.nowMs, tz).date, this.catalog);
      user.travelled = true;
    }
    return user;
  }

  private noteCompleted(
    user: ModelUser,
    completed: readonly string[],
    { atMs, date }: { atMs: number; date: string },
  ): void {
    for (const id of completed) {
      const achievement = this.catalog.achievements.find((one) => one.id === id)!;
      const period = isQuest(achievement) ? completedPeriod(this.catalog, user, achievement, date)! : null;
      if (period !== null) user.quests.set(id, new Set([...(user.quests.get(id) ?? []), period]));
      user.completed.set(id, atMs);
    }
  }

  /** Applies a step; returns the points systems that it changed. */
  private settle(step: Step): Answer {
    const { after, completed } = step;
    const changed = this.award(step);
    this.noteCompleted(after, completed, { atMs: this.nowMs, date: step.date });
    this.show(after);
    this.users.set(after.id, after);
    this.leagues?.enter(after);
    return changed;
  }

  /** Gives the user the points of a step; returns the points systems that it changed. */
  private award(step: Step): Answer {
    const { before, after } = step;
    const changed: Answer = {};
    const { bySystem, levels } = awards(this.catalog, step);
    after.levels = levels;
    for (const { id, key } of this.catalog.pointsSystems) {
      const made = bySystem.get(id)!;
      if (made.length === 0) continue;
      const levelBefore = levelOf(this.catalog, id, pointsOf(before, id));
      after.awards = [...after.awards, ...made];
      const { atMs, date, time } = step;
      after.looks.push({ atMs, date, time, attributes: { ...after.attributes }, on: { systemId: id } });
      const total = pointsOf(after, id);
      const level = levelOf(this.catalog, id, total);
      const added = made.reduce((all, { awarded }) => all + awarded, 0);
      const awarded = made.map((award) => [award.triggerId, award.awarded, award.total, award.boostIds]);
      changed[key] = { total, added, awards: awarded, ...(level !== levelBefore && { level }) };
    }
    return changed;
  }

  /** An entry of one event has what that event sent; another one what the last event sent that sent anything and changed the score. */
  private noteMetadata(before: ModelUser | null, after: ModelUser, sent: Metadata | null): void {
    for (const board of this.catalog.leaderboards) {
      const run = runOf(board, wall(this.nowMs, after.tz).date);
      if (board.status !== 'active' || run === null || !isChanged(board, run, before, after)) continue;
      const entry = `${board.id} ${run.start}`;
      if (sent !== null) after.metadata.set(entry, sent);
      else if (board.aggregate !== null) after.metadata.delete(entry);
    }
  }

  private boards(before: ModelUser | null, after: ModelUser): Answer {
    const changed: Answer = {};
    for (const board of this.catalog.leaderboards) {
      const run = runOf(board, wall(this.nowMs, after.tz).date);
      if (board.status !== 'active' || run === null) continue;
      const group = groupOf(this.catalog, board, { user: after, run });
      if (group === null) continue;
      if (!isChanged(board, run, before, after)) continue;
      const world = (me: ModelUser | null) => {
        const users = new Map(this.users);
        users.delete(after.id);
        if (me !== null) users.set(me.id, me);
        return { catalog: this.catalog, users };
      };
      const now = standings(world(after), board, { run, group });
      const then = standings(world(before), board, { run, group });
      const rankIn = (places: typeof now): number | null =>
        places.find(({ userId }) => userId === after.id)?.rank ?? null;
      changed[board.key] = {
        start: run.start,
        end: run.end,
        rank: rankIn(now),
        previousRank: rankIn(then),
        ...thresholdOf(board, now),
        group,
      };
    }
    return changed;
  }
}

/** Whether a step changed the user's score in a run, or when it was reached. */
function isChanged(board: Leaderboard, run: Run, before: ModelUser | null, after: ModelUser): boolean {
  const score = before === null ? noScore(board) : scoreOf(board, before, run);
  const reached = before === null ? 0 : reachedAt(board, before, run);
  return score !== scoreOf(board, after, run) || reached !== reachedAt(board, after, run);
}
