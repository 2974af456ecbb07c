import { describe, expect, test } from 'vitest';
import type { Plan } from '../../src/rules/plan.ts';
import type { User } from '../../src/rules/user.ts';
import { payTime, settleMidnight } from '../../src/rules/clock.ts';
import { boardOf, DAY, DAY_MS, dailyStreak, freshUser, NOON, planOf, streakRule, systemOf } from './surroundings.ts';

/** The midnight (UTC) that begins `DAY`. */
const MIDNIGHT = DAY * DAY_MS;

describe('midnights of streaks', () => {
  const streaks = (lastDay: number) => ({ ...freshUser().streaks, daily: dailyStreak(3, lastDay) });
  const plan = (fields: Partial<Plan> = {}): Plan => planOf({ boards: [boardOf({ by: 'streak' })], ...fields });

  test('a streak that was missed ends, and leaves the leaderboard', () => {
    const user = freshUser({
      streaks: streaks(DAY - 2),
      scores: [{ board: 8, runDay: DAY, group: '', whole: 3, micros: 0 }],
    });
    const outcome = settleMidnight(user, plan(), MIDNIGHT);
    expect(outcome).toMatchObject({
      day: DAY,
      settlements: { streaks: [{ frequency: 'daily', kind: 'lost', from: DAY - 4, to: DAY - 2, length: 3 }] },
      scores: [{ oldScore: 3, score: 0 }],
    });
    expect(settleMidnight(user, plan(), MIDNIGHT), 'a repetition').toBeNull();
  });

  test('a freeze saves the streak', () => {
    const user = freshUser({ streaks: streaks(DAY - 2), freezes: 2 });
    const outcome = settleMidnight(user, plan({ streak: streakRule({ frozen: true }) }), MIDNIGHT);
    expect(outcome?.settlements?.streaks).toEqual([
      { frequency: 'daily', kind: 'freeze', from: DAY - 1, to: DAY - 1, length: null },
    ]);
    expect(user.freezes).toBe(1);
  });

  test('days off alone are not written', () => {
    const user = freshUser({ streaks: streaks(DAY - 2) });
    expect(settleMidnight(user, plan({ streak: streakRule({ off: 127 }) }), MIDNIGHT)).toBeNull();
  });

  test('a streak that was met yesterday goes on', () => {
    expect(settleMidnight(freshUser({ streaks: streaks(DAY - 1) }), plan(), MIDNIGHT)).toBeNull();
  });

  test("the day is that of the user's zone, with its offset at that time", () => {
    // Vienna has +02:00 until the end of October.
    const midnight = MIDNIGHT - 2 * 3_600_000;
    const user = freshUser({
      streaks: streaks(DAY - 2),
      zone: 'Europe/Vienna',
      offsetSeconds: 3_600,
      offsetUntilMs: midnight - DAY_MS,
    });
    expect(settleMidnight(user, plan(), midnight)?.day).toBe(DAY);
    expect(user.offsetSeconds).toBe(7_200);
  });
});

describe('points for time', () => {
  const hourly = { no: 7, points: 10 };
  const plan = planOf({
    systems: [systemOf({ max: 25, time: [hourly, { no: 8, points: 1, users: [[1, 'gold']] }] })],
    boards: [boardOf({ by: 'points', system: 5 })],
  });
  const pay = (user: User, dueMs: number, triggers = [7]) => payTime(user, plan, { triggers, dueMs, ownBoosts: null });

  test('each period is paid once', () => {
    const user = freshUser();
    expect(pay(user, NOON)).toMatchObject({
      day: DAY,
      ledgers: [{ before: 0, total: 10, awards: [{ trigger: 7, points: 10, after: 10 }] }],
      scores: [{ oldScore: 0, score: 10 }],
    });
    expect(pay(user, NOON), 'a repetition').toBeNull();
    expect(pay(user, NOON - 1), 'an earlier period').toBeNull();
    expect(pay(user, NOON + 1)?.ledgers[0]?.total).toBe(20);
    expect(user.points).toEqual(new Map([[5, 20]]));
  });

  test('only the triggers that are due, of which the user meets the conditions', () => {
    expect(pay(freshUser(), NOON, [8])).toBeNull();
    const awarded = pay(freshUser({ attributes: new Map([[1, 'gold']]) }), NOON, [8]);
    expect(awarded?.ledgers[0]?.awards).toMatchObject([{ trigger: 8, points: 1 }]);
  });

  test('a user at the maximum is paid when there is room again', () => {
    const user = freshUser({ points: new Map([[5, 25]]) });
    expect(pay(user, NOON)).toBeNull();
    user.points.set(5, 20);
    expect(pay(user, NOON)?.ledgers[0]?.total).toBe(25);
  });

  test("the day is that of the user's zone, whose offset is not changed", () => {
    const user = freshUser({ zone: 'Asia/Tokyo', offsetSeconds: 0, offsetUntilMs: NOON });
    expect(pay(user, NOON + 4 * 3_600_000)?.day).toBe(DAY + 1);
    expect(user.offsetSeconds).toBe(0);
  });
});
