import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PlanBoost, PlanConditions, PlanTrigger } from '../../src/rules/plan.ts';
import { Ledger } from '../../src/engine/recomputations/ledger.ts';
import { crossed, type Peaks, UserReplay } from '../../src/engine/recomputations/user-replay.ts';
import type { UserState } from '../../src/packed/state.ts';
import {
  award,
  closeLedgers,
  fireTriggers,
  type Ledger as EventLedger,
  multiplesCrossed,
  openLedgers,
} from '../../src/rules/points.ts';
import { freshUser, systemOf } from './surroundings.ts';

// src/rules/points.ts pays triggers for events; src/engine/recomputations pays them for stored history.

const NO_TRIGGERS = { streak: [], achievement: [], time: [], user_creation: [], level: [] };

const SEED = Number(process.env['SEED']);

const attributeNo = fc.integer({ min: 1, max: 3 });
const value = fc.constantFrom('pro', 'free', 'Ä');
const conditions: fc.Arbitrary<PlanConditions | undefined> = fc.option(
  fc.array(fc.tuple(attributeNo, value), { minLength: 1, maxLength: 2 }),
  { nil: undefined, freq: 1 },
);
const day = fc.integer({ min: 19_000, max: 19_004 });

const boost: fc.Arbitrary<PlanBoost> = fc
  .record({
    no: fc.integer({ min: 1, max: 9 }),
    from: day,
    days: fc.option(fc.nat(5)),
    multiplier: fc.constantFrom(0.1, 0.5, 1.1, 1.25, 1.5, 2, 3.333, 100),
    rounding: fc.constantFrom(1 as const, 2 as const, 3 as const),
    users: conditions,
  })
  .map(({ days, users, ...one }) => ({
    ...one,
    ...(days !== null && { to: one.from + days }),
    ...(users !== undefined && { users }),
  }));

const trigger: fc.Arbitrary<PlanTrigger> = fc
  .record({
    no: fc.integer({ min: 1, max: 5 }),
    points: fc.oneof(fc.integer({ min: -50, max: 50 }), fc.constantFrom(10, 20, 1_000_000_000, -1_000_000_000)),
    threshold: fc.integer({ min: 1, max: 20 }),
    counted: fc.boolean(),
    users: conditions,
  })
  .map(({ counted, users, ...one }) => ({
    ...one,
    ...(counted && { counted: true as const }),
    ...(users !== undefined && { users }),
  }));

/** The highest whole sum before and after an event. */
const peaks: fc.Arbitrary<Peaks> = fc
  .tuple(fc.nat(100), fc.nat(60))
  .map(([before, more]) => ({ before, after: before + more }));

const payments = fc.record({
  max: fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined, freq: 1 }),
  total: fc.nat(500),
  boosts: fc.array(boost, { maxLength: 4 }),
  attributes: fc.uniqueArray(fc.tuple(attributeNo, value), { selector: ([no]) => no, maxLength: 3 }),
  events: fc.array(fc.record({ trigger, day, total: peaks, own: fc.option(peaks, { nil: undefined }) }), {
    minLength: 1,
    maxLength: 8,
  }),
});

test('events and the replay of history pay triggers alike: conditions, thresholds, boosts, maximum and minimum', () => {
  fc.assert(
    fc.property(payments, ({ max, total, boosts, attributes, events }) => {
      const user = freshUser({ attributes: new Map(attributes) });
      const system = systemOf({ no: 1, ...(max !== undefined && { max }) });
      const paid: EventLedger = {
        system,
        before: total,
        total,
        nowMs: 0,
        left: total,
        boosts,
        awards: [],
        boosted: null,
      };
      const totals = events.map((event) => {
        const counts = new Map(event.own ? [[event.trigger.no, event.own]] : []);
        const times = multiplesCrossed(event.trigger, user, { total: event.total, counts });
        if (times > 0) award(paid, event.trigger, { times, user, day: event.day });
        return paid.total;
      });
      const ledger = new Ledger(
        { no: 1, max: max ?? null, boosts: [], metric: new Map(), ...NO_TRIGGERS },
        { total, boosts, attributes: Object.fromEntries(attributes), segmentOf: () => 0 },
      );
      const replayed = events.map((event) => {
        const sums = new Map([[0, event.total], ...(event.own ? [[event.trigger.no, event.own] as const] : [])]);
        ledger.pay(event.trigger, crossed(event.trigger, sums), event.day);
        return [...ledger.awarded.sums()].reduce((sum, { points }) => sum + points, total);
      });
      expect(totals).toEqual(replayed);
    }),
    { numRuns: 1_000, ...(Number.isNaN(SEED) ? {} : { seed: SEED }) },
  );
});

const NOTHING_ELSE = { achievements: [], quests: new Map(), metricNos: [1], counters: new Map(), streaks: false };
const level = fc.record({
  system: fc.constantFrom(1, 2),
  watched: fc.constantFrom(1, 2),
  points: fc.constantFrom(1, 5, 10, 20, -3),
  from: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
});
const histories = fc.record({
  max: fc.option(fc.integer({ min: 10, max: 60 }), { nil: undefined }),
  levels: fc.array(level, { minLength: 1, maxLength: 4 }),
  /** Points for each unit, by system. */
  units: fc.tuple(fc.integer({ min: -2, max: 4 }), fc.integer({ min: -2, max: 4 })),
  events: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 12 }),
});

/** The number of a level of a system: several triggers watch the same ones. */
const levelsOf = ({ watched, from }: { watched: number; from: number[] }) => ({
  watched,
  levels: from.toSorted((a, b) => a - b).map((points) => ({ no: watched * 1_000 + points, points })),
});

test('events and the replay of history reach the same levels, and pay the same for them', () => {
  fc.assert(
    fc.property(histories, fc.boolean(), ({ max, levels, units, events }, mayLose) => {
      const limit = max === undefined ? {} : { max };
      const systems = [1, 2].map((no) => ({
        no,
        unit: { no: no + 10, points: units[no - 1]!, threshold: 1 },
        level: levels.flatMap((one, at) =>
          one.system === no ? [{ no: 100 + at, points: one.points, ...levelsOf(one) }] : [],
        ),
      }));
      const user = freshUser();
      let total = 0;
      const live = events.map((value, at) => {
        const plans = systems.map(({ no, unit, level: own }) => systemOf({ ...limit, no, metric: [unit], level: own }));
        const ledgers = openLedgers(plans, user, { ownBoosts: null, nowMs: at + 1 });
        const peaks = { before: total, after: (total += value) };
        const reached = { is: [], was: [] };
        fireTriggers(ledgers, user, { day: 0, total: peaks, counts: new Map(), reached, completed: [] });
        closeLedgers(ledgers, user);
        return ledgers.flatMap(({ awards }) => awards.map(({ trigger: no, points }) => [no, points] as const));
      });
      const ledgers = systems.map(
        ({ no, unit, level: own }) =>
          new Ledger(
            { no, max: max ?? null, boosts: [], ...NO_TRIGGERS, metric: new Map([[1, [unit]]]), level: own },
            { total: 0, boosts: [], attributes: {}, segmentOf: () => 0 },
          ),
      );
      const replay = new UserReplay({
        rules: { systems: ledgers.map(({ system }) => system), ...NOTHING_ELSE },
        ledgers,
        completions: [],
        fixed: [],
        sinceDay: -Infinity,
        imported: null,
        state: { tz: null, paidMs: {} } as UserState,
        mayLose,
      });
      const event = { userId: 'u', id: 'e', metricNo: 1, day: 0, isDated: false, attributes: null, streak: null };
      for (const [at, value] of events.entries()) replay.event({ ...event, value: String(value), atMs: at + 1 });
      replay.finish({ gained: [], lost: new Set(), day: 0 });
      const sums = new Map<number, number>();
      for (const [no, points] of live.flat()) sums.set(no, (sums.get(no) ?? 0) + points);
      const replayed = ledgers.flatMap((ledger) => [...ledger.awarded.sums()]);
      expect(new Map(replayed.map(({ triggerNo, points }) => [triggerNo, points]))).toEqual(
        new Map([...sums].filter(([, points]) => points !== 0)),
      );
      expect(ledgers.map((ledger) => ledger.total)).toEqual([1, 2].map((no) => user.points.get(no) ?? 0));
    }),
    { numRuns: 250, ...(Number.isNaN(SEED) ? {} : { seed: SEED }) },
  );
});
