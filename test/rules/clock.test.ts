import { describe, expect, test } from 'vitest';
import type { Plan } from '../../src/rules/plan.ts';
import { settleMidnight } from '../../src/rules/clock.ts';
import { boardOf, DAY, DAY_MS, dailyStreak, freshUser, planOf, streakRule } from './surroundings.ts';

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
