import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Frequency,
  isOnWeekday,
  localDay,
  ownDaysOff,
  type OwnDaysOff,
  periodOf,
  periodStart,
} from '../../src/domain/periods.ts';
import {
  type EarlierSettlementRule,
  FREQUENCIES,
  type Settlement,
  settleStreaks,
  type StreaksAsLeft,
  type StreakSettlementRule,
} from '../../src/domain/streaks/settle.ts';
import { packState } from '../../src/packed/pack-state.ts';
import type { PackedState, PackedStreak } from '../../src/packed/state.ts';
import { STREAK, USER } from '../../src/packed/user-fields.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { SETTLEMENT_KINDS } from '../../src/postgres/persist/streaks.ts';
import { readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const SEED = Number(process.env['SEED']);
/** One takes a millisecond: 25 for each of the histories of a run. */
const SETTLEMENTS = 25 * Number(process.env['RUNS'] ?? 20);

/** Settles on each of the rows in turn, like the script. */
const TEXT = `${['streaks'].map((name) => readScript(join(PACKAGE_ROOT, `lua/lib/${name}.lua`))).join('')}
local state, rule, settlements = unpack_state(ARGV[1]), cjson.decode(ARGV[2]), {}
local earned, beside = 0, {}
for _, row in ipairs(cjson.decode(ARGV[3])) do
  local some = settle_streaks(state, rule, row)
  for _, each in ipairs(some or {}) do
    settlements[#settlements + 1] = each
  end
  earned = earned + (some and some.earned or 0)
  for _, each in ipairs(some and some.beside or {}) do
    beside[#beside + 1] = each
  end
end
local streaks = {}
for frequency, at in ipairs(streak_at) do
  streaks[frequency] = { unpack(state, at, at + ${STREAK.lastPeriod}) }
end
local freezes = state[${USER.freezes + 1}] or 0
return cjson.encode({ s = streaks, fz = freezes, settlements = settlements, earned = earned, beside = beside })`;

interface LuaOutcome {
  s: [number, number, number][];
  fz: number;
  settlements: [number, number, number, number, number?][] | Record<string, never>;
  earned: number;
  beside: [frequency: number, kind: number, day: number, last: number, count: number][] | Record<string, never>;
}

const rowOf = (day: number, { weekStart }: StreakSettlementRule): number[] => {
  const periods = FREQUENCIES.map((frequency) => periodOf(day, frequency, weekStart));
  return [...periods, ...FREQUENCIES.map((frequency, at) => periodStart(periods[at]!, frequency, weekStart))];
};

/** The local noon of a day, epoch ms. */
const noon = (day: number, offsetSeconds: number): number => (day + 0.5) * 86_400_000 - offsetSeconds * 1000;

/** A rule with its days off as a set of weekdays, and whether the user's own count. */
type WithDaysOff<Rule> = Rule & { off: number; own: boolean };

const planOf = (rule: WithDaysOff<StreakSettlementRule>) => ({
  frequency: FREQUENCIES.indexOf(rule.frequency) + 1,
  ...(rule.frozen && { frozen: true }),
  ...(rule.earning !== null && { earn: rule.earning }),
  ...(rule.frequency === 'daily' && rule.off > 0 && { off: rule.off }),
  ...(rule.frequency === 'daily' && rule.own && { own: true }),
});

/** Whether a day is off depends on the settings at its beginning. */
const isOff = (day: number, { rule, earlier, own }: Pick<Case, 'rule' | 'earlier' | 'own'>): boolean => {
  const held = earlier.find(({ lastDay }) => lastDay >= day) ?? rule;
  return held.frequency === 'daily' && isOnWeekday((held.own ? ownDaysOff(own, day) : null) ?? held.off, day);
};

interface Case {
  offsetSeconds: number;
  rule: WithDaysOff<StreakSettlementRule>;
  earlier: readonly WithDaysOff<EarlierSettlementRule>[];
  own: OwnDaysOff | null;
}

async function inLua(
  left: Omit<StreaksAsLeft, 'isDayOff'>,
  { offsetSeconds, rule, earlier, own }: Case,
  days: number[],
): Promise<LuaOutcome> {
  const streakOf = (frequency: Frequency): PackedStreak => {
    const { length, startDay, lastPeriod } = left.streaks[frequency];
    return [length, startDay ?? -1, lastPeriod ?? -1, -1, -1];
  };
  const state: PackedState = {
    [USER.createdMs]: left.createdMs,
    [USER.updatedMs]: 0,
    [USER.offsetSeconds]: offsetSeconds,
    [USER.streaks]: [streakOf('daily'), streakOf('weekly'), streakOf('monthly')],
    ...(left.freezes > 0 && { [USER.freezes]: left.freezes }),
    ...(left.earnedDay !== null && { [USER.earnedDay]: left.earnedDay }),
    ...(own !== null && { [USER.daysOff]: [own.set, own.fromDay, own.before ?? -1] as const }),
    ...(left.pauses.length > 0 && { [USER.pauses]: left.pauses.map(({ from, to }) => [from, to, 'id'] as const) }),
  };
  const plan = {
    ...planOf(rule),
    ...(earlier.length > 0 && {
      before: earlier.map((one) => ({
        ...planOf(one),
        ends: noon(one.lastDay, offsetSeconds),
        week: periodStart(0, 'weekly', one.weekStart),
      })),
    }),
  };
  const rows = days.map((day) => rowOf(day, rule));
  const args = [packState(state), JSON.stringify(plan), JSON.stringify(rows)];
  return JSON.parse((await redis.eval(TEXT, 0, ...args)) as string) as LuaOutcome;
}

/** Adjacent uses of the same kind are one when settled at once, and several when settled day by day. */
function joined(settlements: readonly Settlement[]): Settlement[] {
  const result: Settlement[] = [];
  for (const frequency of FREQUENCIES) {
    for (const each of settlements.filter((settlement) => settlement.frequency === frequency)) {
      const before = result.at(-1);
      const follows = before?.frequency === frequency && before.kind === each.kind && before.to === each.from - 1;
      if (follows && each.length === null) before.to = each.to;
      else result.push({ ...each });
    }
  }
  return result;
}

const settlementsOf = ({ settlements: list }: LuaOutcome): Settlement[] =>
  (Array.isArray(list) ? list : []).map(([frequency, kind, from, to, length]) => ({
    frequency: FREQUENCIES[frequency - 1]!,
    kind: SETTLEMENT_KINDS[kind - 1]!,
    from,
    to,
    length: length ?? null,
  }));

const gainsOf = ({ beside: list }: LuaOutcome) =>
  (Array.isArray(list) ? list : []).map(([, , on, , count]) => ({ day: on, count }));

const DAY0 = 19_000;
const day = fc.integer({ min: DAY0, max: DAY0 + 800 });
const weekStart = fc.constantFrom('sunday' as const, 'monday' as const);

/** Weekdays: none, any six, or any. */
const weekdays = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 126 }));

const settings = {
  off: weekdays,
  own: fc.boolean(),
  frequency: fc.constantFrom(...FREQUENCIES),
  frozen: fc.boolean(),
  earning: fc.option(
    fc.tuple(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: DAY0 - 30, max: DAY0 + 60 }).map((since) => since * 86_400_000 + 5),
    ),
  ),
};

const history = fc
  .record({
    weekStart,
    ...settings,
    /** Earlier settings, each with the number of days for which they held. */
    before: fc.array(fc.record({ weekStart, ...settings, days: fc.integer({ min: 0, max: 60 }) }), { maxLength: 3 }),
    lengths: fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 })),
    last: day,
    preferred: fc.option(fc.record({ set: weekdays, fromDay: fc.nat(40), before: fc.option(weekdays) })),
    freezes: fc.integer({ min: 0, max: 6 }),
    earnedDay: fc.option(day),
    created: fc.integer({ min: DAY0 - 50, max: DAY0 + 50 }),
    offsetHours: fc.constantFrom(-12, -3.5, 0, 5.75, 14),
    pauses: fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 70 })), { maxLength: 5 }),
    steps: fc.array(fc.integer({ min: 0, max: 45 }), { minLength: 1, maxLength: 8 }),
  })
  .map((made) => {
    const streak = (frequency: (typeof FREQUENCIES)[number], length: number) => ({
      length,
      startDay: length === 0 ? null : made.last - 400,
      lastPeriod: periodOf(made.last, frequency, (made.before[0] ?? made).weekStart),
    });
    let from = made.last - 40;
    const pauses = made.pauses.map(([gap, days]) => {
      const pause = { from: from + gap, to: from + gap + days };
      from = pause.to + 1;
      return pause;
    });
    const offsetSeconds = made.offsetHours * 3600;
    const left: Omit<StreaksAsLeft, 'isDayOff'> = {
      createdMs: made.created * 86_400_000 + 40_000_000,
      dayAt: (ms) => localDay(ms, offsetSeconds),
      streaks: {
        daily: streak('daily', made.lengths[0]),
        weekly: streak('weekly', made.lengths[1]),
        monthly: streak('monthly', made.lengths[2]),
      },
      freezes: made.freezes,
      earnedDay: made.earnedDay,
      pauses,
    };
    // Earning counts from its setting: at any time first, then from the end of the previous settings.
    let sinceMs: number | null = null;
    let lastDay = made.last - 3;
    const settled = (
      { frequency, frozen, earning, off, own }: Pick<typeof made, keyof typeof settings>,
      weekStartThen: typeof made.weekStart,
    ): WithDaysOff<StreakSettlementRule> => ({
      frequency,
      weekStart: weekStartThen,
      frozen,
      off,
      own,
      earning: earning && frozen ? [earning[0], earning[1], earning[2], sinceMs ?? earning[3]] : null,
    });
    const earlier = made.before.map((one): WithDaysOff<EarlierSettlementRule> => {
      const under = settled(one, one.weekStart);
      lastDay += one.days;
      sinceMs = noon(lastDay, offsetSeconds);
      return { ...under, lastDay };
    });
    const rule = settled(made, made.weekStart);
    let at = made.last;
    const own = made.preferred && { ...made.preferred, fromDay: made.last + made.preferred.fromDay };
    return { left, offsetSeconds, rule, earlier, own, days: made.steps.map((step) => (at += step)) };
  });

const PLAIN = { frozen: false, earning: null, off: 0, own: false };

/** One in 20,000: weeks began on Mondays for a while, with a pause that ended in the last of these, settled day by day. */
const PAUSED_WEEK = {
  left: {
    createdMs: 1_637_320_000_000,
    dayAt: (ms: number) => localDay(ms, -43_200),
    streaks: {
      daily: { length: 0, startDay: null, lastPeriod: 19_040 },
      weekly: { length: 1, startDay: 18_640, lastPeriod: 2719 },
      monthly: { length: 0, startDay: null, lastPeriod: 24_265 },
    },
    freezes: 0,
    earnedDay: null,
    pauses: [
      { from: 19_027, to: 19_079 },
      { from: 19_080, to: 19_085 },
    ],
  },
  offsetSeconds: -43_200,
  rule: { frequency: 'daily' as const, weekStart: 'sunday' as const, ...PLAIN },
  earlier: [
    { frequency: 'daily' as const, weekStart: 'sunday' as const, ...PLAIN, lastDay: 19_075 },
    { frequency: 'daily' as const, weekStart: 'monday' as const, ...PLAIN, lastDay: 19_086 },
  ],
  own: null,
  days: [19_056, 19_086],
};

test('read and script settle alike, at once or on any days between', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ left, days, ...of }) => {
      const { rule, earlier } = of;
      const last = days.at(-1)!;
      const read = settleStreaks({ ...left, isDayOff: (one) => isOff(one, of) }, rule, last, earlier);
      const atOnce = await inLua(left, of, [last]);
      const everyDay = Array.from({ length: last - days[0]! + 1 }, (_, index) => days[0]! + index);
      for (const outcome of [atOnce, await inLua(left, of, days), await inLua(left, of, everyDay)]) {
        expect(outcome.fz).toBe(read.freezes);
        expect(gainsOf(outcome)).toEqual(read.gains);
        for (const [at, frequency] of FREQUENCIES.entries()) {
          const [length, startDay, lastPeriod] = outcome.s[at]!;
          const expected = read.streaks[frequency];
          expect({ length, startDay: startDay === -1 ? null : startDay, lastPeriod }).toEqual(expected);
        }
        expect(joined(settlementsOf(outcome))).toEqual(joined(read.settlements));
      }
      if (earlier.length === 0) expect(settlementsOf(atOnce)).toEqual(read.settlements);
    }),
    { numRuns: SETTLEMENTS, seed: SEED, examples: [[PAUSED_WEEK]] },
  );
});
