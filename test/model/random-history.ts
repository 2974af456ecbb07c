import fc from 'fast-check';
import { DECKS, freezes, HATS, maybe, METRICS, MOVES, PLANS, weekdays } from './random-catalog.ts';

/** Zones of every kind: both ends of the date line, half and quarter hours, both hemispheres, clocks changed at midnight. */
export const ZONES = [
  '',
  'Etc/GMT+12',
  'Pacific/Niue',
  'Pacific/Kiritimati',
  'Pacific/Chatham',
  'Pacific/Apia',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Europe/Berlin',
  'Africa/Cairo',
  'America/Santiago',
  'America/St_Johns',
  'America/New_York',
] as const;

/** Days around which clocks change, months of every length end, years end and leap days fall. */
export const STARTS = [
  '2027-12-30T12:00:00Z',
  '2028-02-27T22:00:00Z',
  '2027-02-26T10:00:00Z',
  '2027-03-12T09:00:00Z',
  '2027-03-26T20:00:00Z',
  '2027-10-30T21:00:00Z',
  '2027-11-05T03:00:00Z',
  '2027-04-02T12:30:00Z',
  '2027-09-03T23:00:00Z',
  '2027-08-30T11:59:59Z',
] as const;

const user = fc.constantFrom('a' as const, 'b' as const, 'c' as const);
const zone = fc.constantFrom(...ZONES).map((tz) => ({ tz }));
const attributes = fc.constantFrom(...PLANS).map((plan) => ({ plan }));
/** So long ago that years are over, or soon will be; sometimes a day that does not exist. */
const signUp = fc.record({
  daysAgo: fc.oneof(
    { weight: 1, arbitrary: fc.integer({ min: -1, max: 2 }) },
    { weight: 2, arbitrary: fc.integer({ min: 300, max: 1500 }) },
    {
      weight: 4,
      arbitrary: fc
        .constantFrom(1, 2, 3)
        .chain((years) => fc.integer({ min: 350, max: 366 }).map((days) => days + 365 * (years - 1))),
    },
  ),
});
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(1, 2, 0.5, 0.1, 0.2, 5, 9.9) },
  { weight: 2, arbitrary: fc.constantFrom(-1, -0.1, -5, 0) },
  { weight: 1, arbitrary: fc.integer({ min: -2_000_000, max: 9_000_000 }).map((amount) => amount / 1_000_000) },
  { weight: 1, arbitrary: fc.constantFrom(0.0000004, 123456789.012345, 1e12, -1e12, 40) },
);
const HOUR = 3_600_000;
const wait = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 * HOUR }) },
  { weight: 5, arbitrary: fc.integer({ min: 6 * HOUR, max: 30 * HOUR }) },
  { weight: 1, arbitrary: fc.integer({ min: 30 * HOUR, max: 200 * HOUR }) },
  { weight: 1, arbitrary: fc.integer({ min: 4, max: 70 }).map((days) => days * 24 * HOUR) },
);

const event = fc.record({
  do: fc.constant('event' as const),
  user,
  metric: fc.constantFrom(...METRICS),
  value,
  key: maybe(fc.constantFrom('k1', 'k2'), 25),
  zone: maybe(zone, 12),
  attributes: maybe(attributes, 25),
  signUp: maybe(signUp, 15),
  deck: maybe(fc.constantFrom(...DECKS), 50),
  moves: maybe(fc.constantFrom(...MOVES), 60),
  hat: maybe(fc.constantFrom(...HATS), 40),
});
const nthSystem = fc.nat(1);
/** A number of points, or a share of the balance in percent. */
const amount = fc.oneof(
  fc.record({ points: fc.constantFrom(1, 2, 5, 1000) }),
  fc.record({ percent: fc.constantFrom(10, 50, 100, 101) }),
);
const steps = {
  event,
  batch: fc.record({ do: fc.constant('batch' as const), events: fc.array(event, { minLength: 1, maxLength: 6 }) }),
  wait: fc.record({ do: fc.constant('wait' as const), ms: wait }),
  midnight: fc.record({ do: fc.constant('midnight' as const), user, before: fc.boolean() }),
  upsert: fc.record({
    do: fc.constant('upsert' as const),
    user,
    zone: maybe(zone, 50),
    attributes: maybe(attributes, 50),
    signUp: maybe(signUp, 60),
  }),
  prefer: fc.record({
    do: fc.constant('prefer' as const),
    user,
    enabled: fc.boolean(),
    mode: maybe(fc.constantFrom('OR' as const, 'AND' as const)),
    daysOff: maybe(weekdays),
  }),
  complete: fc.record({ do: fc.constant('complete' as const), user, nth: fc.nat(5) }),
  settings: fc.record({
    do: fc.constant('settings' as const),
    enabled: maybe(fc.boolean(), 33),
    frequency: maybe(fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const)),
    freezes: maybe(fc.record({ of: freezes })),
    daysOff: maybe(weekdays),
    personalization: maybe(fc.boolean(), 25),
  }),
  /** On Sundays, the end or the beginning of a week, it has an effect. */
  weeks: fc.record({ do: fc.constant('weeks' as const), onSunday: fc.boolean() }),
  toggle: fc.record({ do: fc.constant('toggle' as const), nth: fc.nat(3) }),
  freeze: fc.record({ do: fc.constant('freeze' as const), user }),
  pause: fc.record({
    do: fc.constant('pause' as const),
    user,
    from: fc.integer({ min: -2, max: 8 }),
    days: fc.oneof(fc.integer({ min: -1, max: 3 }), fc.integer({ min: 4, max: 45 })),
  }),
  unpause: fc.record({ do: fc.constant('unpause' as const), nth: fc.nat(5) }),
  restore: fc.record({ do: fc.constant('restore' as const), user }),
  reset: fc.record({ do: fc.constant('reset' as const), user }),
  spend: fc.record({
    do: fc.constant('spend' as const),
    user,
    system: nthSystem,
    amount,
    key: maybe(fc.constantFrom('s1', 's2'), 40),
  }),
  hold: fc.record({
    do: fc.constant('hold' as const),
    user,
    system: nthSystem,
    amount,
    seconds: fc.constantFrom(1, 3_600, 86_400, 2_592_000),
  }),
  close: fc.record({
    do: fc.constant('close' as const),
    how: fc.constantFrom('capture' as const, 'release' as const, 'refund' as const),
    nth: fc.nat(7),
  }),
  sweep: fc.record({ do: fc.constant('sweep' as const) }),
  read: fc.record({ do: fc.constant('read' as const) }),
};
const step = fc.oneof(
  { weight: 12, arbitrary: steps.event },
  { weight: 2, arbitrary: steps.batch },
  { weight: 6, arbitrary: steps.wait },
  { weight: 2, arbitrary: steps.midnight },
  { weight: 1, arbitrary: steps.upsert },
  { weight: 1, arbitrary: steps.complete },
  { weight: 1, arbitrary: steps.prefer },
  { weight: 1, arbitrary: steps.settings },
  { weight: 1, arbitrary: steps.weeks },
  { weight: 1, arbitrary: steps.toggle },
  { weight: 2, arbitrary: steps.read },
  { weight: 1, arbitrary: steps.sweep },
  { weight: 1, arbitrary: steps.freeze },
  { weight: 1, arbitrary: steps.pause },
  { weight: 1, arbitrary: steps.unpause },
  { weight: 1, arbitrary: steps.restore },
  { weight: 1, arbitrary: steps.reset },
  { weight: 4, arbitrary: steps.spend },
  { weight: 2, arbitrary: steps.hold },
  { weight: 3, arbitrary: steps.close },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A beginning, and what happens from then on. */
export const randomHistory = fc.record({
  start: fc.constantFrom(...STARTS),
  /** The initial zones of the users. */
  homes: fc.record({ a: zone, b: zone, c: zone }),
  steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
});
export type History = typeof randomHistory extends fc.Arbitrary<infer T> ? T : never;
