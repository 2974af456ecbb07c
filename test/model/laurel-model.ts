import type { Catalog } from '../../src/domain/catalog.ts';
import { completes } from './achievements.ts';
import { groupOf, scoreOf, standings, thresholdOf } from './boards.ts';
import { runOf, wall, type Frequency } from './calendar.ts';
import { micros, wire } from './decimals.ts';
import { awards, isOutOfPoints, levelOf, type Step } from './points.ts';
import { afterJump, afterMet, asOf, FREQUENCIES, isMet, NO_STREAK, told } from './streak.ts';
import { pointsOf, totalOf, type ModelUser } from './user.ts';

export interface SentUser {
  id: string;
  tz?: string | null;
  attributes?: Record<string, string>;
}

export interface SentEvent {
  metricKey: string;
  user: SentUser;
  value: number;
  attributes: Record<string, string>;
  key: string | null;
}

type Answer = Record<string, unknown>;

/** Laurel as its specification tells it: slow, in memory, one thing after the other. */
export class LaurelModel {
  catalog: Catalog;
  nowMs: number;
  readonly users = new Map<string, ModelUser>();

  constructor(catalog: Catalog, nowMs: number) {
    this.catalog = catalog;
    this.nowMs = nowMs;
  }

  /** Records an event; null: refused. */
  event({ metricKey, user: sent, value, attributes, key }: SentEvent): Answer | null {
    const metricId = this.catalog.metrics.find((metric) => metric.key === metricKey)!.id;
    const known = this.users.get(sent.id);
    if (key !== null && known?.events.some((event) => event.key === key && event.metricId === metricId) === true) {
      const currentStreak = { ...this.streak(known), extended: false };
      const nothing = { achievements: [], points: {}, leaderboards: {} };
      return { status: 202, total: wire(totalOf(known, metricId)), currentStreak, ...nothing };
    }
    const before = this.upserted(sent);
    const here = wall(this.nowMs, before.tz);
    const amount = micros(value);
    const after = structuredClone(before);
    after.events.push({ atMs: this.nowMs, ...here, metricId, amount, attributes, key });
    after.shown = { ...after.attributes };
    const extended = this.extend(after);
    const { length } = asOf(after.streaks[this.frequency], this.here(after));
    const completed = completes(this.catalog, after, length, []);
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
    const { id } = this.catalog.achievements.find((achievement) => achievement.key === key)!;
    const after = this.upserted(sent);
    const created = !this.users.has(sent.id);
    if (after.completed.has(id)) {
      this.users.set(after.id, after);
      return { achievedAt: after.completed.get(id), points: {} };
    }
    const completed = completes(this.catalog, after, null, [id]);
    const here = wall(this.nowMs, after.tz);
    const step = { atMs: this.nowMs, ...here, created, before: after, after, extendedTo: null, completed };
    if (isOutOfPoints(this.catalog, step)) return null;
    return { achievedAt: this.nowMs, points: this.settle(step) };
  }

  /** Creates a user or sets fields of one. */
  upsert(sent: SentUser): void {
    const after = this.upserted(sent);
    const created = !this.users.has(sent.id);
    const here = wall(this.nowMs, after.tz);
    this.settle({ atMs: this.nowMs, ...here, created, before: after, after, extendedTo: null, completed: [] });
  }

  streak(user: ModelUser): Answer {
    return told(user.streaks[this.frequency], this.here(user));
  }

  here(user: ModelUser, frequency: Frequency = this.frequency) {
    return { today: wall(this.nowMs, user.tz).date, frequency, weekStart: this.catalog.streaks.weekStart };
  }

  private get frequency(): Frequency {
    return this.catalog.streaks.frequency;
  }

  /** A copy of the user with what was sent. */
  private upserted({ id, tz, attributes = {} }: SentUser): ModelUser {
    const known = this.users.get(id);
    const user: ModelUser =
      known !== undefined
        ? structuredClone(known)
        : {
            id,
            tz: null,
            attributes: {},
            shown: {},
            events: [],
            awards: [],
            completed: new Map(),
            streaks: { daily: NO_STREAK, weekly: NO_STREAK, monthly: NO_STREAK },
            travelled: false,
          };
    Object.assign(user.attributes, attributes);
    if (known === undefined) user.shown = { ...user.attributes };
    if (tz !== undefined && tz !== user.tz) {
      const to = wall(this.nowMs, tz).date;
      for (const frequency of FREQUENCIES) {
        user.streaks[frequency] = afterJump(user.streaks[frequency], this.here(user, frequency), to);
      }
      if (user.events.length > 0) user.travelled = true;
      user.tz = tz;
    }
    return user;
  }

  /** Extends the streaks that the user's last event extends; whether it did so with the one that is shown. */
  private extend(user: ModelUser): boolean {
    let extended = false;
    for (const frequency of FREQUENCIES) {
      const here = this.here(user, frequency);
      const track = user.streaks[frequency];
      if (!isMet(user, this.catalog, here)) continue;
      user.streaks[frequency] = afterMet(track, here, this.nowMs);
      if (frequency === this.frequency) extended = user.streaks[frequency].met !== asOf(track, here).met;
    }
    return extended;
  }

  /** Makes a step true; the points systems that it changed. */
  private settle(step: Step): Answer {
    const { before, after, completed } = step;
    const changed: Answer = {};
    for (const { id, key } of this.catalog.pointsSystems) {
      const made = awards(this.catalog, id, step);
      if (made.length === 0) continue;
      const levelBefore = levelOf(this.catalog, id, pointsOf(before, id));
      after.awards = [...after.awards, ...made];
      const total = pointsOf(after, id);
      const level = levelOf(this.catalog, id, total);
      const added = made.reduce((all, { awarded }) => all + awarded, 0);
      const awarded = made.map((award) => [award.triggerId, award.awarded, award.total, award.boostIds]);
      changed[key] = { total, added, awards: awarded, ...(level !== levelBefore && { level }) };
    }
    for (const id of completed) after.completed.set(id, this.nowMs);
    this.users.set(after.id, after);
    return changed;
  }

  private boards(before: ModelUser | null, after: ModelUser): Answer {
    const changed: Answer = {};
    for (const board of this.catalog.leaderboards) {
      const run = runOf(board, wall(this.nowMs, after.tz).date);
      const group = groupOf(this.catalog, board, after);
      if (board.status !== 'active' || run === null || group === null) continue;
      const score = scoreOf(board, after, run);
      const scoreBefore = before === null ? 0n : scoreOf(board, before, run);
      if (score === scoreBefore) continue;
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
        threshold: thresholdOf(board, now),
        group,
      };
    }
    return changed;
  }
}
