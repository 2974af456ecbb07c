import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalOfMicros } from '../../src/domain/decimal.ts';
import { dateOf, periodOf as frequencyPeriod, periodStart } from '../../src/domain/periods.ts';
import { daysOf, longestPeriod, periodOf, type Repeat } from '../../src/domain/repeat.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { QUEST_PERIODS } from '../../src/packed/user-fields.ts';
import { inlineNames, readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

// lua/lib/quests.lua counts events in periods of repeating achievements; src/domain/repeat.ts has the periods.

const redis = await connectedRedis();
const SEED = Number(process.env['SEED']);

const TEXT = `${readScript(join(PACKAGE_ROOT, 'lua/lib/quests.lua'))}
${inlineNames(
  `local steps = cjson.decode(ARGV[1])
local state, seen = { [USER.completions] = {} }, {}
for n, step in ipairs(steps) do
  local event = { plan = { quests = { step.quest } }, now = n, whole = step.whole, micros = step.micros, occurred = step.occurred }
  local outcome = { completed = {} }
  quests.count(event, state, outcome, step.row)
  seen[n] = { outcome.quests and outcome.quests[1] or false, #outcome.completed }
end
local quest = state[USER.quests] and state[USER.quests][7]
return cjson.encode({ seen = seen, times = quest and quest[QUEST.times] or 0, at = state[USER.completions][7] or 0 })`,
  'quests',
)}`;

const WEEK_START = 'monday';
const repeats: (Repeat | null)[] = ['daily', 'weekly', 'monthly', { days: 1 }, { days: 3 }, { days: 10 }, null];
/** The local day (epoch day) on which histories begin. */
const FIRST = 20_000;
const NUMBERS: Readonly<Record<string, number>> = { daily: 1, weekly: 2, monthly: 3 };

/** The plan's periods on a day. */
function row(day: number): number[] {
  const [week, month] = [frequencyPeriod(day, 'weekly', WEEK_START), frequencyPeriod(day, 'monthly', WEEK_START)];
  return [day, week, month, day, periodStart(week, 'weekly', WEEK_START), periodStart(month, 'monthly', WEEK_START)];
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

test('an event counts in the period of its day, and a period is completed once', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ repeat, season, wanted, events }) => {
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
        ...(typeof repeat === 'string' && { frequency: NUMBERS[repeat] }),
        ...(typeof repeat === 'object' && repeat !== null && { days: repeat.days, first: from ?? 0 }),
      };
      const sums = new Map<number, number>();
      const done = new Set<number>();
      const kept = (): number[] => [...sums.keys()].toSorted((a, b) => b - a).slice(0, QUEST_PERIODS.most);
      let completedAt = 0;
      const steps: object[] = [];
      const expected: unknown[] = [];
      for (const [index, { day: share, value, isKnown }] of events.entries()) {
        const day = FIRST + Math.floor(share * (repeat === null ? 10 : longestPeriod(rule)));
        const period = periodOf(rule, day, WEEK_START);
        expect(period === null).toBe(day < (from ?? day) || day > (to ?? day));
        if (period === null) {
          steps.push({ quest, ...decimalOfMicros(BigInt(value)), row: row(day) });
          expected.push([false, 0]);
          continue;
        }
        const { fromDay, toDay } = daysOf(rule, period, WEEK_START);
        expect(period > 0 && day >= fromDay && day <= toDay).toBe(true);
        const isKept = kept().length < QUEST_PERIODS.most || kept().some((each) => each <= period);
        const before = sums.get(period) ?? 0;
        const known = decimalOfMicros(BigInt(before));
        const late = { period, ...(!isKept && isKnown && { ...known, done: Number(done.has(period)) }) };
        steps.push({
          quest,
          ...decimalOfMicros(BigInt(value)),
          row: row(day),
          // Without late data, the row says the period.
          ...((!isKept || index % 2 === 0) && { occurred: { late: { quests: { 7: late } } } }),
        });
        if (!isKept && !isKnown) {
          expected.push([false, 0]);
          continue;
        }
        sums.set(period, before + value);
        const was = done.has(period);
        if (before + value >= wanted && !was) {
          done.add(period);
          completedAt = index + 1;
        }
        const { whole, micros } = decimalOfMicros(BigInt(before + value));
        const state = was ? 2 : Number(done.has(period));
        expected.push([[7, period, done.size, whole, micros, state], state === 1 ? 1 : 0]);
      }
      const { seen, times, at } = JSON.parse((await redis.eval(TEXT, 0, JSON.stringify(steps))) as string) as {
        seen: unknown;
        times: number;
        at: number;
      };
      // Lua encodes an empty list as an object.
      expect(Object.values(seen as object)).toEqual(expected);
      expect([times, at]).toEqual([done.size, completedAt]);
    }),
    { seed: SEED, numRuns: 200 },
  );
});
