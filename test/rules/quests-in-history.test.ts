import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Decimal, decimalOfMicros } from '../../src/domain/decimal.ts';
import { dateOf, periodOf as frequencyPeriod, periodStart } from '../../src/domain/periods.ts';
import { daysOf, longestPeriod, periodOf, type Repeat } from '../../src/domain/repeat.ts';
import { QUEST_PERIODS } from '../../src/packed/user-fields.ts';
import type { Plan, PlanQuest } from '../../src/rules/plan.ts';
import { countQuests, type LateQuestPeriod, type QuestOutcome } from '../../src/rules/quests.ts';
import type { LocalDay } from '../../src/rules/streaks.ts';
import { newUser } from '../../src/rules/user.ts';

// `countQuests` counts events in periods of repeating achievements; src/domain/repeat.ts has the periods.

const SEED = Number(process.env['SEED']);

interface Step {
  quest: PlanQuest;
  value: Decimal;
  row: LocalDay;
  /** Without late data, the row says the period. */
  late: Record<number, LateQuestPeriod> | null;
}

function play(steps: readonly Step[]): { seen: unknown[]; times: number; at: number } {
  const user = newUser(0, { freezes: 0, generation: null });
  const seen = steps.map(({ quest, value, row: on, late }, index) => {
    const outcome: QuestOutcome = { completed: [], quests: [] };
    const plan = { quests: [quest] } as Plan;
    countQuests(plan, user, on, { value, nowMs: index + 1, counts: new Map(), late }, outcome);
    return [outcome.quests[0] ?? null, outcome.completed.length];
  });
  return { seen, times: user.quests.get(7)?.times ?? 0, at: user.completions.get(7) ?? 0 };
}

const WEEK_START = 'monday';
const repeats: (Repeat | null)[] = ['daily', 'weekly', 'monthly', { days: 1 }, { days: 3 }, { days: 10 }, null];
/** The local day (epoch day) on which histories begin. */
const FIRST = 20_000;
const NUMBERS: Readonly<Record<string, 1 | 2 | 3>> = { daily: 1, weekly: 2, monthly: 3 };

function row(day: number): LocalDay {
  const [week, month] = [frequencyPeriod(day, 'weekly', WEEK_START), frequencyPeriod(day, 'monthly', WEEK_START)];
  const weekStart = periodStart(week, 'weekly', WEEK_START);
  return { day, week, month, weekStart, monthStart: periodStart(month, 'monthly', WEEK_START) };
}

const history = fc.record({
  repeat: fc.constantFrom<(Repeat | null)[]>(...repeats),
  /** First and last day of the season, from the first day of the history. */
  season: fc.tuple(fc.option(fc.integer({ min: -5, max: 20 })), fc.option(fc.integer({ min: 10, max: 60 }))),
  wanted: fc.constantFrom(500_000, 3_000_000, 7_250_000),
  events: fc.array(
    fc.record({
      /** In periods, from the first. */
      day: fc.double({ min: 0, max: 6, noNaN: true }),
      value: fc.constantFrom(500_000, 1_000_000, 2_250_000, 5_000_000, -1_500_000, 0),
      isKnown: fc.boolean(),
    }),
    { maxLength: 25 },
  ),
});

test('an event counts in the period of its day, and a period is completed once', () => {
  fc.assert(
    fc.property(history, ({ repeat, season, wanted, events }) => {
      const [from, to] = season.map((day) => (day === null ? null : FIRST + Math.max(day, season[0] ?? day)));
      const rule = {
        repeat,
        startDate: from === null ? null : dateOf(from!),
        endDate: to === null ? null : dateOf(to!),
      };
      const quest = {
        no: 7,
        whole: Math.floor(wanted / 1e6),
        micros: wanted % 1e6,
        ...(from !== null && { from }),
        ...(to !== null && { to }),
        ...(typeof repeat === 'string' && { frequency: NUMBERS[repeat]! }),
        ...(typeof repeat === 'object' && repeat !== null && { days: repeat.days, first: from ?? 0 }),
      };
      const sums = new Map<number, number>();
      const done = new Set<number>();
      const kept = (): number[] => [...sums.keys()].toSorted((a, b) => b - a).slice(0, QUEST_PERIODS.most);
      let completedAt = 0;
      const steps: Step[] = [];
      const expected: unknown[] = [];
      for (const [index, { day: share, value, isKnown }] of events.entries()) {
        const day = FIRST + Math.floor(share * (repeat === null ? 10 : longestPeriod(rule)));
        const period = periodOf(rule, day, WEEK_START);
        expect(period === null).toBe(day < (from ?? day) || day > (to ?? day));
        if (period === null) {
          steps.push({ quest, value: decimalOfMicros(BigInt(value)), row: row(day), late: null });
          expected.push([null, 0]);
          continue;
        }
        const { fromDay, toDay } = daysOf(rule, period, WEEK_START);
        expect(period > 0 && day >= fromDay && day <= toDay).toBe(true);
        const isKept = kept().length < QUEST_PERIODS.most || kept().some((each) => each <= period);
        const before = sums.get(period) ?? 0;
        const known = decimalOfMicros(BigInt(before));
        const late = { period, ...(!isKept && isKnown && { ...known, done: Number(done.has(period)) }) };
        const needsLate = !isKept || index % 2 === 0;
        steps.push({
          quest,
          value: decimalOfMicros(BigInt(value)),
          row: row(day),
          late: needsLate ? { 7: late } : null,
        });
        if (!isKept && !isKnown) {
          expected.push([null, 0]);
          continue;
        }
        sums.set(period, before + value);
        const was = done.has(period);
        if (before + value >= wanted && !was) {
          done.add(period);
          completedAt = index + 1;
        }
        const { whole, micros } = decimalOfMicros(BigInt(before + value));
        const completed = was ? 2 : Number(done.has(period));
        expected.push([
          { achievement: 7, period, times: done.size, whole, micros, completed },
          completed === 1 ? 1 : 0,
        ]);
      }
      const { seen, times, at } = play(steps);
      expect(seen).toEqual(expected);
      expect([times, at]).toEqual([done.size, completedAt]);
    }),
    { seed: SEED, numRuns: 200 },
  );
});
