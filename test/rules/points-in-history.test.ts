import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PlanBoost, PlanConditions, PlanTrigger } from '../../src/rules/plan.ts';
import { Ledger } from '../../src/engine/recomputations/ledger.ts';
import { crossed, type Peaks } from '../../src/engine/recomputations/user-replay.ts';
import { award, type Ledger as EventLedger, multiplesCrossed } from '../../src/rules/points.ts';
import { freshUser, systemOf } from './surroundings.ts';

// src/rules/points.ts pays triggers for events; src/engine/recomputations pays them for stored history.

const NO_TRIGGERS = { streak: [], achievement: [], time: [], user_creation: [] };

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
      const paid: EventLedger = { system, before: total, total, left: total, boosts, awards: [], boosted: null };
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
