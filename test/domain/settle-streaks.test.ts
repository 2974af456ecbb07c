import { expect, test } from 'vitest';
import { dayOf, FREQUENCIES, type Frequency, isOnWeekday, periodOf, weekdaySet } from '../../src/domain/periods.ts';
import { settleStreaks, type StreakSettlementRule } from '../../src/domain/streaks/settle.ts';

type Pause = [from: string, to: string];
interface Left {
  frequency: Frequency;
  /** The day of the user's last event; length 5 in every frequency. */
  last: string;
  freezes?: number;
  pauses?: Pause[];
  daysOff?: number[];
  /** One every so many days since `last`, at most two. */
  earnEvery?: number;
}

function settled({ frequency, last, freezes = 0, pauses = [], daysOff = [], earnEvery }: Left, today: string) {
  const streak = (each: Frequency) => ({
    length: 5,
    startDay: dayOf(last) - 200,
    lastPeriod: periodOf(dayOf(last), each, 'sunday'),
  });
  const rule: StreakSettlementRule = {
    frequency,
    weekStart: 'sunday',
    frozen: true,
    earning: earnEvery === undefined ? null : [earnEvery, 1, 2, 0],
  };
  const left = {
    createdMs: dayOf(last) * 86_400_000,
    dayAt: (ms: number) => Math.floor(ms / 86_400_000),
    streaks: { daily: streak('daily'), weekly: streak('weekly'), monthly: streak('monthly') },
    freezes,
    earnedDay: null,
    pauses: pauses.map(([from, to]) => ({ from: dayOf(from), to: dayOf(to) })),
    isDayOff: (day: number) => isOnWeekday(weekdaySet(daysOff), day),
  };
  const { streaks, freezes: after } = settleStreaks(left, rule, dayOf(today));
  return [...FREQUENCIES.map((each) => streaks[each].length), after];
}

// Lengths: daily, weekly, monthly; freezes left.
test.each<[string, Left, string, number[]]>([
  ['the day after: nothing is due', { frequency: 'daily', last: '2024-02-28' }, '2024-02-29', [5, 5, 5, 0]],
  ['a leap day missed', { frequency: 'daily', last: '2024-02-28' }, '2024-03-01', [0, 5, 5, 0]],
  ['a leap day frozen', { frequency: 'daily', last: '2024-02-28', freezes: 1 }, '2024-03-01', [5, 5, 5, 0]],
  ['two days missed, one frozen', { frequency: 'daily', last: '2023-02-27', freezes: 1 }, '2023-03-02', [0, 5, 5, 0]],
  [
    'over the year’s end, paused',
    { frequency: 'daily', last: '2025-12-30', pauses: [['2025-12-31', '2026-01-02']] },
    '2026-01-03',
    [5, 5, 5, 0],
  ],
  [
    'a weekend off uses no freeze',
    { frequency: 'daily', last: '2026-03-06', freezes: 1, daysOff: [0, 6] },
    '2026-03-09',
    [5, 5, 5, 1],
  ],
  [
    'the Monday after it is missed',
    { frequency: 'daily', last: '2026-03-06', daysOff: [0, 6] },
    '2026-03-10',
    [0, 5, 5, 0],
  ],
  ['weeks ignore days off', { frequency: 'weekly', last: '2026-03-06', daysOff: [0, 6] }, '2026-03-15', [0, 0, 5, 0]],
  [
    'a pause goes before a freeze',
    { frequency: 'daily', last: '2026-03-01', freezes: 1, pauses: [['2026-03-02', '2026-03-02']] },
    '2026-03-04',
    [5, 5, 5, 0],
  ],
  [
    'a pause that begins too late',
    { frequency: 'daily', last: '2026-03-01', pauses: [['2026-03-03', '2026-03-09']] },
    '2026-03-05',
    [0, 5, 5, 0],
  ],
  ['a week missed: Sunday to Saturday', { frequency: 'weekly', last: '2026-03-07' }, '2026-03-15', [0, 0, 5, 0]],
  ['its last day is still in time', { frequency: 'weekly', last: '2026-03-01' }, '2026-03-14', [0, 5, 5, 0]],
  ['a week frozen', { frequency: 'weekly', last: '2026-03-07', freezes: 2 }, '2026-03-15', [0, 5, 5, 1]],
  [
    'a week paused except for one day',
    { frequency: 'weekly', last: '2026-03-07', pauses: [['2026-03-08', '2026-03-13']] },
    '2026-03-15',
    [0, 0, 5, 0],
  ],
  [
    'a week paused by two pauses',
    {
      frequency: 'weekly',
      last: '2026-03-07',
      pauses: [
        ['2026-03-06', '2026-03-10'],
        ['2026-03-11', '2026-03-14'],
      ],
    },
    '2026-03-15',
    [5, 5, 5, 0],
  ],
  ['a month missed', { frequency: 'monthly', last: '2026-01-31' }, '2026-03-01', [0, 0, 0, 0]],
  ['a month frozen', { frequency: 'monthly', last: '2026-01-31', freezes: 1 }, '2026-03-01', [0, 0, 5, 0]],
  [
    'a February paused',
    { frequency: 'monthly', last: '2024-01-31', pauses: [['2024-02-01', '2024-02-29']] },
    '2024-03-01',
    [5, 5, 5, 0],
  ],
  [
    'a freeze earned before that midnight',
    { frequency: 'daily', last: '2026-03-01', earnEvery: 2 },
    '2026-03-04',
    [0, 5, 5, 1],
  ],
  ['a freeze every day keeps it', { frequency: 'daily', last: '2026-03-01', earnEvery: 1 }, '2026-03-31', [5, 0, 5, 1]],
  ['earned up to the maximum', { frequency: 'daily', last: '2026-03-01', earnEvery: 3 }, '2027-03-01', [0, 0, 0, 2]],
])('%s', (_, left, today, expected) => expect(settled(left, today)).toEqual(expected));
