import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RECORD } from '../../src/packed/record-fields.ts';
import { pack, unpack, unpackAll } from '../../src/packed/state.ts';
import { firstAndOther, unpackr } from '../../src/packed/unpack-state.ts';
import { STATE_SIZE, STREAK, USER } from '../../src/packed/user-fields.ts';
import { inlineNames } from '../../src/redis/lua-library.ts';
import { decodeUser, encodeUser } from '../../src/rules/user-codec.ts';
import { newUser, type User } from '../../src/rules/user.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const total = (whole: number, micros: number, peak: number) => ({ whole, micros, peak });
const streakOf = (length: number): User['streaks']['daily'] => ({
  length,
  startDay: 20_000,
  lastPeriod: 20_001,
  extendedMs: 1_700_000_000_000,
  currentPeriod: 20_002,
  sums: new Map([[9, { whole: 3, micros: 500_000 }]]),
});

/** A user with every field. */
const FULL: User = {
  createdMs: 1_600_000_000_000,
  updatedMs: 1_700_000_000_000,
  activeDay: 19_675,
  usedKeys: { day: 5, count: 7 },
  name: 'Ada',
  email: 'a@b.c',
  zone: 'Europe/Berlin',
  offsetSeconds: 3_600,
  offsetUntilMs: 1_800_000_000_000,
  deviceTokens: '["t"]',
  unsubscribed: true,
  attributes: new Map([[7, 'red']]),
  totals: new Map([[9, total(5, 250_000, 8)]]),
  counts: new Map([[4, total(2, 0, 3)]]),
  streaks: { daily: streakOf(1), weekly: streakOf(2), monthly: streakOf(3) },
  freezes: 2,
  earnedDay: 19_990,
  settledMs: 1_690_000_000_000,
  begunDay: 20_003,
  pauses: [{ from: 20_010, to: 20_012, id: 'id' }],
  notifications: '1-0',
  streakRule: { enabled: true, all: null, metrics: [{ metric: 9, whole: 10, micros: 500_000 }] },
  daysOff: { set: 65, fromDay: 20_013, before: null },
  signUp: { day: 17_000, years: 3, sinceMs: 1_600_000_000_001 },
  points: new Map([[5, 40]]),
  completions: new Map([[4, 1_650_000_000_000]]),
  paidMs: new Map([[6, 1_660_000_000_000]]),
  scores: [
    { board: 8, runDay: 20_000, group: '3:red', whole: 12, micros: 500_000 },
    { board: 8, runDay: 19_993, group: '', whole: 1, micros: 0 },
  ],
  guarded: new Map([
    [
      9,
      {
        hour: 472_222,
        hourSum: { whole: 5, micros: 0 },
        day: 19_675,
        daySum: { whole: 8, micros: 500_000 },
        lastMs: 1_700_000_000_000,
      },
    ],
  ]),
  owed: new Map([[6, 12]]),
  corrections: 4,
  recomputed: 7,
  heldUntilMs: 1_800_000_000_000,
  hidden: 3,
  generation: 2,
  importedBy: 'crm',
  importedMs: 1_772_000_000_000,
  spent: new Map([[5, 30]]),
  holds: [{ system: 5, id: 'h', amount: 7, expiresMs: 1_800_000_000_000 }],
  scoreTimes: [{ board: 8, runDay: 20_000, reached: 1_790_000_000_000_001, secondary: 4_503_599_627_370_489 }],
  quests: new Map([[4, { times: 2, periods: [{ period: 20_001, whole: 12, micros: 500_000, done: true }] }]]),
  metadata: [{ event: 'e'.repeat(32), json: '{"hat":"red"}', runs: [{ board: 8, runDay: 20_000 }] }],
  stays: [{ board: 8, runDay: 20_000, sinceMs: 1_700_000_000_000, team: 'red', whole: 12, micros: 500_000 }],
  unknown: [],
};

test('a state with every field is decoded completely', () => {
  const packed = encodeUser(FULL);
  expect(unpackAll(packed)).toHaveLength(STATE_SIZE);
  expect(unpackAll(packed)).not.toContain(null);
  expect(decodeUser(packed)).toEqual(FULL);
});

const LEAST = newUser(1, { freezes: 0, generation: null });

test('trailing absent fields take no space; a state ends after its streaks at the earliest', () => {
  expect(unpackAll(encodeUser(LEAST))).toHaveLength(USER.streaks + 2 * STREAK.size + STREAK.currentPeriod + 1);
  const without: User = {
    ...FULL,
    spent: new Map(),
    holds: [],
    scoreTimes: [],
    quests: new Map(),
    stays: [],
    metadata: [],
    heldUntilMs: null,
  };
  expect(unpackAll(encodeUser(without))).toHaveLength(USER.spent);
});

test('one field is unpacked without the others, whatever Redis packed before it', async () => {
  const leaf = fc.oneof(
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.integer({ min: -200, max: 70_000 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ maxLength: 40 }),
    fc.integer({ min: 200, max: 40_000 }).map((length) => 'x'.repeat(length)),
  );
  const value = fc.oneof(leaf, fc.array(leaf, { maxLength: 40 }), fc.dictionary(fc.string(), leaf, { maxKeys: 40 }));
  const values = fc.array(value, { minLength: STATE_SIZE, maxLength: STATE_SIZE, size: 'max' });
  const text = 'local values = cjson.decode(ARGV[1]) values[1] = 7 return cmsgpack.pack(unpack(values))';
  await fc.assert(
    fc.asyncProperty(values, fc.integer({ min: 1, max: STATE_SIZE }), async (made, position) => {
      const packed = (await redis.callBuffer('EVAL', text, 0, JSON.stringify(made))) as Buffer;
      const all = unpackr.unpackMultiple(packed) as unknown[];
      expect(firstAndOther(packed, position)).toEqual([7, all[position]]);
    }),
  );
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['no msgpack', Buffer.from([0xc1])],
  ['a text', pack('text')],
  ['a list', pack([1, 2])],
  ['the beginning of a state', encodeUser(LEAST).subarray(0, 20)],
])('%s is no state', (_name, bytes) => {
  expect(() => decodeUser(bytes)).toThrow();
  expect(() => firstAndOther(bytes, STATE_SIZE)).toThrow();
});

test('every field of a record that Redis packs has its name', async () => {
  const fields = Object.keys(RECORD).map((name) => `[RECORD.${name}] = '${name}'`);
  const text = inlineNames(`return cmsgpack.pack({ ${fields.join(', ')} })`, 'round trip');
  const record = unpack((await redis.callBuffer('EVAL', text, 0)) as Buffer) as Record<string, string>;
  expect(Object.keys(record).toSorted()).toEqual([...new Set(Object.values(RECORD))].toSorted());
});
