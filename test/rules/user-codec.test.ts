import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pack, unpackAll } from '../../src/packed/state.ts';
import { namedState } from '../../src/packed/unpack-state.ts';
import { STATE_SIZE, USED_KEYS, USER } from '../../src/packed/user-fields.ts';
import { decodeUser, encodeUser } from '../../src/rules/user-codec.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, freshUser, NOON, streakOf } from './surroundings.ts';

const no = fc.integer({ min: 1, max: 70_000 });
const day = fc.integer({ min: 0, max: 40_000 });
const ms = fc.integer({ min: 0, max: 2 ** 43 });
const amount = fc.integer({ min: 1, max: 1e15 - 1 });
const text = fc.string({ maxLength: 40, unit: 'binary' });
const flag = fc.constantFrom(true, false, null);
const id = fc.constantFrom('0123456789abcdef0123456789abcdef', 'ffffffffffffffffffffffffffffffff');
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });
const few = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { maxLength: 4 });
const table = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Map<number, T>> =>
  few(fc.tuple(no, value)).map((entries) => new Map(entries));

const sum = { whole: fc.integer({ min: -1e15 + 1, max: 1e15 - 1 }), micros: fc.integer({ min: 0, max: 999_999 }) };
const run = { board: no, runDay: day };
const streak = fc.record({
  length: fc.nat(5000),
  startDay: orNull(day),
  lastPeriod: orNull(day),
  extendedMs: orNull(ms),
  currentPeriod: orNull(day),
  sums: table(fc.record(sum)),
});
const total = fc.record({ ...sum, peak: orNull(amount) });

const users: fc.Arbitrary<User> = fc.record({
  createdMs: ms,
  updatedMs: ms,
  activeDay: orNull(day),
  usedKeys: orNull(fc.record({ day: fc.nat(USED_KEYS.days - 1), count: fc.nat(USED_KEYS.day - 1) })),
  totals: table(total),
  counts: table(total),
  points: table(amount),
  completions: table(ms),
  scores: few(fc.record({ ...run, group: text, ...sum })),
  streaks: fc.record({ daily: streak, weekly: streak, monthly: streak }),
  freezes: fc.nat(100),
  earnedDay: orNull(day),
  pauses: few(fc.record({ from: day, to: day, id })),
  streakRule: orNull(fc.record({ enabled: flag, all: flag, metrics: few(fc.record({ metric: no, ...sum })) })),
  daysOff: orNull(fc.record({ set: fc.nat(127), fromDay: day, before: orNull(fc.nat(127)) })),
  settledMs: orNull(ms),
  begunDay: orNull(day),
  name: orNull(text),
  email: orNull(text),
  unsubscribed: fc.boolean(),
  deviceTokens: orNull(text),
  attributes: table(text),
  zone: orNull(text),
  offsetSeconds: orNull(fc.integer({ min: -50_400, max: 50_400 })),
  offsetUntilMs: orNull(ms),
  signUp: orNull(fc.record({ day, years: fc.nat(100), sinceMs: ms })),
  notifications: orNull(text),
  hidden: fc.nat(3),
  quests: table(
    fc.record({ times: fc.nat(500), periods: few(fc.record({ period: day, ...sum, done: fc.boolean() })) }),
  ),
  paidMs: table(ms),
  spent: table(amount),
  holds: few(fc.record({ system: no, id, amount, expiresMs: ms })),
  owed: table(fc.integer({ min: -1e15, max: 1e15 })),
  scoreTimes: fc.uniqueArray(
    fc.record(
      { ...run, reached: fc.maxSafeInteger(), secondary: fc.maxSafeNat() },
      { requiredKeys: ['board', 'runDay', 'reached'] },
    ),
    { maxLength: 3, selector: (time) => `${time.board} ${time.runDay}` },
  ),
  stays: few(fc.record({ ...run, sinceMs: ms, team: text, ...sum })),
  metadata: few(fc.record({ event: id, json: text, runs: few(fc.record(run)) })),
  guarded: table(fc.record({ hour: day, hourSum: fc.record(sum), day, daySum: fc.record(sum), lastMs: orNull(ms) })),
  generation: orNull(amount),
  corrections: fc.nat(100),
  recomputed: orNull(amount),
  importedBy: orNull(text),
  importedMs: orNull(ms),
  heldUntilMs: orNull(ms),
  unknown: fc.constant([] as unknown[]),
});

test('any user is the same after a round trip', () => {
  fc.assert(
    fc.property(users, (user) => {
      expect(decodeUser(encodeUser(user))).toEqual(user);
    }),
  );
});

test('encoding is stable: the bytes of a decoded user are the stored ones', () => {
  fc.assert(
    fc.property(users, (user) => {
      const packed = encodeUser(user);
      expect(encodeUser(decodeUser(packed)).toString('hex')).toBe(packed.toString('hex'));
    }),
  );
});

test('each field is at its position', () => {
  const streak = (length: number) =>
    streakOf({ length, startDay: DAY, currentPeriod: DAY, sums: new Map([[9, { whole: 3, micros: 500_000 }]]) });
  const user = freshUser({
    updatedMs: NOON + 1,
    name: 'Ada',
    unsubscribed: true,
    totals: new Map([[9, { whole: 5, micros: 250_000, peak: 8 }]]),
    streaks: { daily: streak(1), weekly: streak(2), monthly: streak(3) },
    scores: [{ board: 8, runDay: DAY, group: '3:red', whole: 12, micros: 500_000 }],
  });
  expect(namedState(encodeUser(user))).toEqual({
    createdMs: NOON,
    updatedMs: NOON + 1,
    activeDay: -1,
    name: 'Ada',
    totals: { 9: [5, 250_000, 8] },
    counts: {},
    points: {},
    completions: {},
    streaks: [1, 2, 3].map((length) => [length, DAY, -1, -1, DAY, { 9: [3, 500_000] }]),
    boards: [8, DAY, '3:red', 12, 500_000],
    unsubscribed: 1,
  });
});

test('fields of a newer version are kept', () => {
  const unknown = ['new', undefined, [1, 2], new Map([[3, 'x']])];
  const user = freshUser({ unknown });
  const decoded = decodeUser(encodeUser(user));
  expect(decoded.unknown).toEqual(unknown);
  expect(encodeUser(decoded).toString('hex')).toBe(encodeUser(user).toString('hex'));
});

/** Packed values of a user with one field replaced. */
const withField = (field: number, value: unknown): Buffer => {
  const values: unknown[] = Array.from({ length: STATE_SIZE }, () => null);
  for (const [at, each] of unpackAll(encodeUser(freshUser())).entries()) values[at] = each;
  values[field] = value;
  return Buffer.concat(values.map((each) => pack(each)));
};

test.each([
  [
    'points',
    USER.points,
    [40, 50],
    {
      points: new Map([
        [1, 40],
        [2, 50],
      ]),
    },
  ],
  [
    'totals',
    USER.totals,
    [
      [1, 0],
      [2, 500_000, 3],
    ],
    {
      totals: new Map([
        [1, { whole: 1, micros: 0, peak: null }],
        [2, { whole: 2, micros: 500_000, peak: 3 }],
      ]),
    },
  ],
  ['attributes', USER.attributes, ['red'], { attributes: new Map([[1, 'red']]) }],
  [
    'quests',
    USER.quests,
    [[2, [[DAY, 1, 0, 1]]]],
    {
      quests: new Map([[1, { times: 2, periods: [{ period: DAY, whole: 1, micros: 0, done: true }] }]]),
    },
  ],
  ['completions of nobody', USER.completions, [], { completions: new Map() }],
])('a table with the keys 1..n may be packed as a list: %s', (_name, field, list, expected) => {
  expect(decodeUser(withField(field, list))).toMatchObject(expected);
});

test.each([
  ['scores', USER.boards],
  ['holds', USER.holds],
  ['stays', USER.teams],
  ['times of scores', USER.scoreTimes],
])('an empty list may be packed as a map: %s', (_name, field) => {
  const user = decodeUser(withField(field, new Map()));
  expect([user.scores, user.holds, user.stays, user.scoreTimes]).toEqual([[], [], [], []]);
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['a text', pack('text')],
  ['the beginning of a user', encodeUser(freshUser()).subarray(0, 30)],
])('%s is no user', (_name, bytes) => {
  expect(() => decodeUser(bytes)).toThrow();
});
