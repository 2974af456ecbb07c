import { describe, expect, test } from 'vitest';
import {
  achievementRule,
  boardText,
  boostText,
  causeText,
  every,
  ruleText,
  triggerRule,
  type Named,
  type Rule,
} from '../../console/src/rule-text.ts';
import { changedText, counted, pluralOf, valueText } from '../../src/domain/words.ts';
import { duration, paceText } from '../../console/src/ui/measures.ts';
import { changeText, counted as countedShown, percent, periods, periodText } from '../../console/src/ui/format.ts';

const NAMED: Named = {
  metrics: [{ id: 'm1', name: 'Flashcards flipped' }],
  achievements: [
    { id: 'a1', name: 'Ten flips' },
    { id: 'a2', name: 'A week' },
  ],
  attributes: [
    { id: 'u1', name: 'plan' },
    { id: 'e1', name: 'subject' },
    { id: 'e2', name: 'device' },
  ],
  systems: [{ id: 's1', name: 'XP' }],
};
const PRO = { userAttributes: [{ attributeId: 'u1', attributeValue: 'pro' }] };
const LANGUAGES = { eventAttributes: [{ attributeId: 'e1', attributeValue: 'languages' }] };

describe('a rule as a sentence', () => {
  test.each([
    [{ trigger: 'metric', metricId: 'm1', metricValue: 50 }, '50 Flashcards flipped'],
    [
      { trigger: 'metric', metricId: 'm1', metricValue: 50, ...LANGUAGES },
      '50 Flashcards flipped if the event’s subject is languages',
    ],
    [
      { trigger: 'metric', metricId: 'm1', metricValue: 1_500, ...LANGUAGES, ...PRO },
      '1,500 Flashcards flipped if the event’s subject is languages and the user’s plan is pro',
    ],
    [{ trigger: 'metric', metricId: 'gone', metricValue: 1 }, '1 of gone'],
    [{ trigger: 'streak', streakLength: 7 }, 'a streak of 7'],
    [{ trigger: 'api', ...PRO }, 'a call from your server if the user’s plan is pro'],
    [{ trigger: 'achievement', achievementIds: ['a1'] }, 'the achievement Ten flips'],
    [{ trigger: 'achievement', achievementIds: ['a1', 'a2'] }, 'the achievements Ten flips and A week'],
    [{ trigger: 'anniversary', anniversaryYears: 1 }, '1 year since the sign-up'],
    [{ trigger: 'anniversary', anniversaryYears: 3 }, '3 years since the sign-up'],
  ] as const)('of an achievement: %j', (achievement, text) => {
    expect(ruleText(achievementRule(achievement, NAMED))).toBe(text);
  });

  test.each([
    [{ type: 'metric', points: 1, metricId: 'm1', metricThreshold: 5 }, '1 point for every 5 Flashcards flipped'],
    [
      { type: 'metric', points: 20, metricId: 'm1', metricThreshold: 5, ...LANGUAGES },
      '20 points for every 5 Flashcards flipped if the event’s subject is languages',
    ],
    [{ type: 'achievement', points: 9, pointsSystemId: 's1' }, '9 points for every level of XP'],
    [{ type: 'achievement', points: 9, pointsSystemId: 's1', levelKey: 'sage' }, '9 points for the level sage of XP'],
    [{ type: 'metric', points: 2, metricId: 'm1', metricThreshold: 1 }, '2 points for each of Flashcards flipped'],
    [{ type: 'streak', points: 3, streakLength: 1 }, '3 points for every period of a streak'],
    [{ type: 'achievement', points: 3, achievementId: 'a2' }, '3 points for the achievement A week'],
    [{ type: 'streak', points: 3, streakLength: 7 }, '3 points for a streak of 7, 14, 21 and so on'],
    [{ type: 'time', points: -2, timeInterval: 7, timeUnit: 'days' }, '-2 points for every 7 days'],
    [{ type: 'time', points: 2, timeInterval: 1, timeUnit: 'hours' }, '2 points for every hour'],
    [{ type: 'user_creation', points: 5, ...PRO }, '5 points for a new user if the user’s plan is pro'],
  ] as const)('of a trigger: %j', (trigger, text) => {
    const rule = triggerRule(trigger, NAMED);
    expect(ruleText(rule)).toBe(text);
    expect(text.endsWith(` for ${causeText(rule)}`)).toBe(true);
  });

  test('of the timeline, whose conditions have keys', () => {
    const rule: Rule = {
      type: 'metric',
      points: 2,
      metric: { name: 'Steps' },
      threshold: 10,
      userAttributes: [],
      eventAttributes: [
        { key: 'subject', value: 'maths' },
        { key: 'device', value: 'phone' },
      ],
    };
    expect(ruleText(rule)).toBe(
      '2 points for every 10 Steps if the event’s subject is maths and the event’s device is phone',
    );
  });

  test.each([
    [{ multiplier: 2, start: '2026-03-01', end: '2026-03-07' }, '2 × points from Mar 1, 2026 to Mar 7, 2026'],
    [{ multiplier: 1.5, start: '2026-03-01', ...PRO }, '1.5 × points from Mar 1, 2026 if the user’s plan is pro'],
    [{ multiplier: 2, start: '2026-03-01', end: null, userId: 'ada' }, '2 × points from Mar 1, 2026 for the user ada'],
  ])('of a boost: %j', (boost, text) => {
    expect(boostText(boost, NAMED)).toBe(text);
  });

  test.each([
    [{ rankBy: 'metric', metricId: 'm1', breakdownAttributes: [] }, 'Ranked by Flashcards flipped, one run'],
    [
      { rankBy: 'points', pointsSystemId: 's1', runUnit: 'day', runInterval: 7, breakdownAttributes: ['u1'] },
      'Ranked by points of XP, a new run every week, a separate ranking for each plan',
    ],
    [
      { rankBy: 'streak', runUnit: 'month', runInterval: 1, breakdownAttributes: [], maxParticipants: 100 },
      'Ranked by length of the streak, a new run every month, at most 100 places',
    ],
    [
      { rankBy: 'metric', metricId: 'm1', breakdownAttributes: [], startTime: '18:00', endTime: '20:00' },
      'Ranked by Flashcards flipped, one run, only events from 18:00 until 20:00',
    ],
    [
      {
        rankBy: 'metric',
        metricId: 'm1',
        aggregate: 'min',
        order: 'ascending',
        breakdownAttributes: [],
        teamAttributeId: 'u1',
      },
      'Ranked by the lowest Flashcards flipped, one run, teams by plan',
    ],
    [
      { rankBy: 'metric', metricId: 'm1', aggregate: 'last', order: 'ascending', breakdownAttributes: [] },
      'Ranked by the latest Flashcards flipped (lowest first), one run',
    ],
    [
      { rankBy: 'metric', metricId: 'm1', aggregate: 'max', ties: 'first', breakdownAttributes: [] },
      'Ranked by the highest Flashcards flipped, one run, equal scores: who was first',
    ],
  ] as const)('of a leaderboard: %j', (board, text) => {
    expect(boardText(board, NAMED)).toBe(text);
  });

  test.each([
    [1, 'day', 'every day'],
    [1, 'days', 'every day'],
    [7, 'day', 'every 7 days'],
    [12, 'hours', 'every 12 hours'],
  ])('every %d %s', (count, unit, text) => {
    expect(every(count, unit)).toBe(text);
  });

  test.each([
    [0, '0%'],
    [0.001, '<1%'],
    [0.9787, '98%'],
    [0.9987, '>99%'],
    [1, '100%'],
  ])('the share %d in percent', (share, text) => {
    expect(percent(share)).toBe(text);
  });
});

describe('figures and dates', () => {
  test.each([
    [0, 0, 'No change'],
    [5, 0, 'None in the previous period'],
    [46, 46, 'No change'],
    [52, 46, '+13% from 46'],
    [23, 46, '−50% from 46'],
    [0, 46, '−100% from 46'],
    // Formerly "+5237% from 46".
    [2_455, 46, '53 times the 46 before'],
  ])('%d after %d: %s', (now, before, text) => {
    expect(changeText(now, before)).toBe(text);
  });

  test('lengths of streaks have a unit', () => {
    expect(periods(2, 'daily')).toBe('2 days');
    expect(periods(1, 'weekly')).toBe('1 week');
    expect(periods(0, 'monthly')).toBe('0 months');
  });

  test('a week or a month does not look like a day', () => {
    const ms = Date.UTC(2026, 10, 2);
    expect(periodText(ms, 'week')).toContain('Week of');
    expect(periodText(ms, 'month')).toContain('2026');
    expect(periodText(ms, 'month')).not.toMatch(/\b2\b/);
  });
});

describe('shared words', () => {
  test.each([
    ['user', 'users'],
    ['entry', 'entries'],
    ['key', 'keys'],
    ['category', 'categories'],
    ['USER', 'USERS'],
  ])('the plural of %s is %s', (one, many) => {
    expect(pluralOf(one)).toBe(many);
  });

  test('a number with its noun', () => {
    expect([0, 1, -1, 2].map((count) => counted(count, 'entry'))).toEqual([
      '0 entries',
      '1 entry',
      '-1 entry',
      '2 entries',
    ]);
    expect(countedShown(2_000, 'entry')).toBe('2,000 entries');
  });

  test.each([
    [{ kind: 'streaks', name: 'streaks' }, 'streak settings'],
    [{ kind: 'events', name: null }, 'event settings'],
    [{ kind: 'messages', name: 'messages' }, 'message settings'],
    [{ kind: 'message_template', name: 'recap de' }, 'message template recap de'],
    [{ kind: 'points_system', name: 'xp' }, 'points system xp'],
    [{ kind: 'points_trigger', name: 'streak', pointsSystemKey: 'xp' }, 'trigger streak of points system xp'],
    [{ kind: 'points_trigger', name: null }, 'points trigger'],
  ])('what a configuration changes: %j', (change, text) => {
    expect(changedText(change)).toBe(text);
  });

  test('a value of a change, shortened', () => {
    expect([undefined, null, ['a'], 'x'.repeat(198)].map(valueText)).toEqual([
      '(none)',
      'null',
      '["a"]',
      `"${'x'.repeat(198)}"`,
    ]);
    expect(valueText('x'.repeat(20_000))).toBe(`"${'x'.repeat(199)}… (20,002 characters)`);
  });
});

describe('the pace of long work', () => {
  test.each([
    [{ done: 0, total: 100 }, 1_000, ''],
    [{ done: 500, total: null }, 2_000, '250 per second'],
    [{ done: 2_500, total: 10_000 }, 10_000, '250 per second, 30 seconds left'],
    [{ done: 1, total: 121 }, 60_000, '0.02 per second, 2 hours left'],
    [{ done: 100, total: 100 }, 1_000, '100 per second'],
  ])('%j after %d ms: %s', (progress, elapsedMs, text) => {
    expect(paceText(progress, elapsedMs)).toBe(text);
  });

  test('a duration has one unit, in the singular or the plural', () => {
    expect([1, 59, 60, 7_200, 86_400].map(duration)).toEqual([
      '1 second',
      '59 seconds',
      '1 minute',
      '2 hours',
      '1 day',
    ]);
  });
});
