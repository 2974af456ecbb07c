import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RECORD } from '../../src/packed/record-fields.ts';
import { pack, packState } from '../../src/packed/pack-state.ts';
import { decodeState, unpack, unpackAll, unpackState, type UserState } from '../../src/packed/state.ts';
import { firstAndOther, namedState, unpackr } from '../../src/packed/unpack-state.ts';
import { STATE_SIZE, STREAK, USER } from '../../src/packed/user-fields.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inlineNames, readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const streakAt = (frequency: number): string =>
  [1, 20000, 20001, 1700000000000, 20002, '{ [9] = { 3, 500000 } }']
    .map((value, offset) => `state[streak_at[${frequency}] + ${offset}] = ${offset === 0 ? frequency : value}`)
    .join('\n');

/** A user's state, packed by Redis with every declared field. */
const STATE = `${readScript(join(PACKAGE_ROOT, 'lua', 'lib', 'users.lua'))}
${inlineNames(
  `local state = { unpack({}, 1, STATE.first) }
local fields = {
  [USER.createdMs] = 1600000000000, [USER.updatedMs] = 1700000000000, [USER.activeDay] = 19675, [USER.usedKeys] = 21474836487, [USER.name] = 'Ada', [USER.email] = 'a@b.c',
  [USER.zone] = 'Europe/Berlin', [USER.offsetSeconds] = 3600, [USER.offsetUntilMs] = 1800000000000,
  [USER.deviceTokens] = '["t"]', [USER.unsubscribed] = 1, [USER.attributes] = { [7] = 'red' },
  [USER.totals] = { [9] = { 5, 250000, 8 } }, [USER.counts] = { [4] = { 2, 0, 3 } },
  [USER.freezes] = 2, [USER.earnedDay] = 19990, [USER.settledMs] = 1690000000000, [USER.begunDay] = 20003,
  [USER.pauses] = { { 20010, 20012, 'id' } }, [USER.notifications] = '1-0',
  [USER.streakRule] = { 1, -1, { { 9, 10, 500000 } } }, [USER.daysOff] = { 65, 20013, -1 },
  [USER.signUp] = { 17000, 3, 1600000000001 }, [USER.points] = { [5] = 40 },
  [USER.completions] = { [4] = 1650000000000 }, [USER.timePaid] = { [6] = 1660000000000 },
  [USER.boards] = { 8, 20000, '3:red', 12, 500000, 8, 19993, '', 1, 0 },
  [USER.guarded] = { [9] = { 472222, 5, 0, 19675, 8, 500000, 1700000000000 } },
  [USER.owed] = { [6] = 12 }, [USER.corrections] = 4, [USER.recomputed] = 7, [USER.hidden] = 3, [USER.generation] = 2, [USER.importedBy] = 'crm', [USER.importedMs] = 1772000000000,
  [USER.spent] = { [5] = 30 }, [USER.holds] = { 5, 'h', 7, 1800000000000 }, [USER.scoreTimes] = { 8, 20000, 1790000000000001 },
  [USER.quests] = { [4] = { 2, { { 20001, 12, 500000, 1 } } } },
  [USER.teams] = { 8, 20000, 1700000000000, 'red', 12, 500000 },
}
for position, value in pairs(fields) do state[position] = value end`,
  'round trip',
)}
${[1, 2, 3].map(streakAt).join('\n')}
`;

const byRedis = async (text: string, ...args: Buffer[]): Promise<Buffer> =>
  (await redis.callBuffer('EVAL', STATE + text, 0, ...args)) as Buffer;

const streak = (length: number) => ({
  length,
  startDay: 20000,
  lastPeriod: 20001,
  extendedMs: 1700000000000,
  currentPeriod: 20002,
  sums: { 9: '3.5' },
});

/** The contents of the state. */
const DECODED: UserState = {
  createdMs: 1600000000000,
  updatedMs: 1700000000000,
  name: 'Ada',
  email: 'a@b.c',
  tz: 'Europe/Berlin',
  offsetSeconds: 3600,
  deviceTokens: ['t'],
  subscribed: false,
  attributes: { 7: 'red' },
  totals: { 9: '5.25' },
  peaks: { 9: '8' },
  counts: { 4: '2' },
  countPeaks: { 4: '3' },
  streaks: { daily: streak(1), weekly: streak(2), monthly: streak(3) },
  freezes: 2,
  earnedDay: 19990,
  settledMs: 1690000000000,
  pauses: [{ from: 20010, to: 20012, id: 'id' }],
  notifications: '1-0',
  streakRule: { enabled: true, all: null, metrics: [{ no: 9, threshold: '10.5' }] },
  daysOff: { set: 65, fromDay: 20013, before: null },
  hidden: 3,
  signUp: { day: 17000, years: 3, sinceMs: 1600000000001 },
  points: { 5: 40 },
  completions: { 4: 1650000000000 },
  quests: { 4: { times: 2, periods: [{ period: 20001, value: '12.5', done: true }] } },
  timePaid: { 6: 1660000000000 },
  importedBy: 'crm',
  importedMs: 1_772_000_000_000,
  spent: { 5: 30 },
  holds: [{ systemNo: 5, id: 'h', amount: 7, expiresMs: 1800000000000 }],
  boards: {
    8: [
      { runDay: 20000, group: '3:red', score: '12.5', reached: 1_790_000_000_000_001 },
      { runDay: 19993, group: '', score: '1' },
    ],
  },
};

test('a state packed by Redis with every field is decoded completely', async () => {
  const packed = await byRedis('return pack_state(state)');
  expect(unpackAll(packed)).toHaveLength(STATE_SIZE);
  expect(unpackAll(packed)).not.toContain(null);
  expect(decodeState(packed)).toEqual(DECODED);
});

test('a script reads and packs unchanged what TypeScript packs', async () => {
  const state = unpackState(await byRedis('return pack_state(state)'));
  const packed = packState(state);
  const again = await byRedis('return pack_state(unpack_state(ARGV[1]))', packed);
  expect(decodeState(again)).toEqual(DECODED);
  expect(namedState(again)).toEqual(namedState(packed));
});

test('trailing absent fields take no space; a state ends after its streaks at the earliest', async () => {
  const least = packState({ [USER.createdMs]: 1, [USER.updatedMs]: 2 });
  expect(unpackAll(least)).toHaveLength(USER.streaks + 3 * STREAK.size);
  expect(decodeState(least)).toMatchObject({
    createdMs: 1,
    updatedMs: 2,
    name: null,
    streaks: { daily: { length: 0 } },
  });
  const last = [USER.spent, USER.holds, USER.scoreTimes, USER.quests, USER.teams].map(
    (position) => `state[${position + 1}] = nil`,
  );
  expect(unpackAll(await byRedis(`${last.join(' ')} return pack_state(state)`))).toHaveLength(USER.spent);
});

test('a script packs each field that it set in a state, and none that it removed', async () => {
  const positions = Array.from({ length: STATE_SIZE }, (_, at) => at + 1);
  const optional = positions.filter((position) => position > USER.streaks + 3 * STREAK.size);
  const changes = fc.record({
    before: fc.subarray(optional),
    removed: fc.subarray(optional),
    set: fc.subarray(optional),
    after: fc.subarray(optional),
  });
  const text = `
    local function change(list, value) for at in string.gmatch(list, '%d+') do state[tonumber(at)] = value end end
    for at = ${optional[0]}, ${STATE_SIZE} do state[at] = nil end
    change(ARGV[1], 7)
    state = unpack_state(pack_state(state))
    change(ARGV[2], nil) change(ARGV[3], 8)
    state[${USER.name + 1}] = nil
    change(ARGV[4], 9)
    local last = ${STATE_SIZE}
    while state[last] == nil do last = last - 1 end
    return { pack_state(state), cmsgpack.pack(unpack(state, 1, last)) }`;
  await fc.assert(
    fc.asyncProperty(changes, async ({ before, removed, set, after }) => {
      const lists = [before, removed, set, after].map((list) => list.join());
      const [packed, expected] = (await redis.callBuffer('EVAL', STATE + text, 0, ...lists)) as unknown as Buffer[];
      expect(packed).toEqual(expected);
    }),
  );
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
  ['the beginning of a state', packState({ [USER.createdMs]: 1, [USER.updatedMs]: 2 }).subarray(0, 20)],
])('%s is no state', (_name, bytes) => {
  expect(() => unpackState(bytes)).toThrow();
  expect(() => firstAndOther(bytes, STATE_SIZE)).toThrow();
});

test('every field of a record that Redis packs has its name', async () => {
  const fields = Object.keys(RECORD).map((name) => `[RECORD.${name}] = '${name}'`);
  const text = inlineNames(`return cmsgpack.pack({ ${fields.join(', ')} })`, 'round trip');
  const record = unpack((await redis.callBuffer('EVAL', text, 0)) as Buffer) as Record<string, string>;
  expect(Object.keys(record).toSorted()).toEqual([...new Set(Object.values(RECORD))].toSorted());
});
