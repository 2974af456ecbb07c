import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PlanBoost, PlanConditions, PlanTrigger } from '../../src/rules/plan.ts';
import { Ledger } from '../../src/engine/recomputations/ledger.ts';
import { crossed, type Peaks } from '../../src/engine/recomputations/user-replay.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { USER } from '../../src/packed/user-fields.ts';
import { readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

// lua/lib/points.lua and lua/lib/users.lua pay triggers for events; src/engine/recomputations pays them for stored history.

const redis = await connectedRedis();
const SEED = Number(process.env['SEED']);

const TEXT = `${readScript(join(PACKAGE_ROOT, 'lua/lib/points.lua'))}
local case = cjson.decode(ARGV[1])
local attributes = {}
for _, pair in ipairs(case.attributes) do
  attributes[pair[1]] = pair[2]
end
local state = { [${USER.attributes + 1}] = attributes }
local ledger = { system = case.system, total = case.total, boosts = case.boosts, awards = {} }
local steps = {}
for i, event in ipairs(case.events) do
  local outcome = { peak_before = event.total[1], peak_after = event.total[2] }
  if event.own then
    outcome.peaks = { [event.trigger.no] = { event.own[1], event.own[2] } }
  end
  local multiples = crossed(event.trigger, outcome, attributes)
  if multiples > 0 then
    award_points(ledger, event.trigger, multiples, state, event.day)
  end
  steps[i] = { multiples = multiples, total = string.format('%.17g', ledger.total) }
end
return cjson.encode(steps)`;

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

test('the script and the replay of history pay triggers alike: conditions, thresholds, boosts, maximum and minimum', async () => {
  await fc.assert(
    fc.asyncProperty(payments, async ({ max, total, boosts, attributes, events }) => {
      const system = { no: 1, ...(max !== undefined && { max }) };
      const pair = (one: Peaks | undefined) => one && [one.before, one.after];
      const sent = events.map((event) => ({ ...event, total: pair(event.total), own: pair(event.own) }));
      const text = JSON.stringify({ system, total, boosts, attributes, events: sent });
      const steps = JSON.parse((await redis.eval(TEXT, 0, text)) as string) as { multiples: number; total: string }[];
      const ledger = new Ledger(
        { no: 1, max: max ?? null, boosts: [], metric: new Map(), streak: [], achievement: [] },
        { total, boosts, attributes: Object.fromEntries(attributes), segmentOf: () => 0 },
      );
      const replayed = events.map((event) => {
        const sums = new Map([[0, event.total], ...(event.own ? [[event.trigger.no, event.own] as const] : [])]);
        ledger.pay(event.trigger, crossed(event.trigger, sums), event.day);
        return [...ledger.awarded.sums()].reduce((sum, { points }) => sum + points, total);
      });
      expect(steps.map((step) => Number(step.total))).toEqual(replayed);
    }),
    { numRuns: 1_000, ...(Number.isNaN(SEED) ? {} : { seed: SEED }) },
  );
});
