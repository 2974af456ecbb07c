import { expect, test } from 'vitest';
import { RECORD } from '../../src/packed/record-fields.ts';
import { decodeState, unpack } from '../../src/packed/state.ts';
import { USER } from '../../src/packed/user-fields.ts';
import { inlineNames } from '../../src/redis/inline-names.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const STREAK = (length: number): string => `{ ${length}, 20000, 20001, 1700000000000, 20002, { [9] = { 3, 500000 } } }`;

/** A user's state, packed by Redis with every field that is declared. */
const STATE = inlineNames(
  `return cmsgpack.pack({
  [USER.createdMs] = 1600000000000, [USER.updatedMs] = 1700000000000, [USER.activeDay] = 19675, [USER.name] = 'Ada', [USER.email] = 'a@b.c',
  [USER.zone] = 'Europe/Berlin', [USER.offsetSeconds] = 3600, [USER.offsetUntilMs] = 1800000000000,
  [USER.deviceTokens] = '["t"]', [USER.unsubscribed] = 1, [USER.attributes] = { [7] = 'red' },
  [USER.totals] = { [9] = { 5, 250000, 8 } }, [USER.counts] = { [4] = { 2, 0, 3 } },
  [USER.streaks] = { ${STREAK(1)}, ${STREAK(2)}, ${STREAK(3)} },
  [USER.freezes] = 2, [USER.earnedDay] = 19990, [USER.settledMs] = 1690000000000, [USER.begunDay] = 20003,
  [USER.pauses] = { { 20010, 20012, 'id' } }, [USER.notifications] = '1-0',
  [USER.streakRule] = { 1, -1, { { 9, 10, 500000 } } }, [USER.daysOff] = { 65, 20013, -1 },
  [USER.signUp] = { 17000, 3, 1600000000001 }, [USER.points] = { [5] = 40 },
  [USER.completions] = { [4] = 1650000000000 }, [USER.timePaid] = { [6] = 1660000000000 },
  [USER.boards] = { [8] = { 20000, '3:red', 12, 500000, 19993, '', 1, 0 } },
  [USER.guarded] = { [9] = { 472222, 5, 0, 19675, 8, 500000, 1700000000000 } },
  [USER.owed] = { [6] = 12 }, [USER.corrections] = 4, [USER.recomputed] = 7, [USER.hidden] = 3, [USER.generation] = 2, [USER.importedBy] = 'crm', [USER.importedMs] = 1772000000000, [USER.earlierChange] = 'call',
})`,
  'round trip',
);

test('a state packed by Redis with every field is decoded whole', async () => {
  const packed = (await redis.callBuffer('EVAL', STATE, 0)) as Buffer;
  expect(Object.keys(unpack(packed) as object).toSorted()).toEqual(Object.values(USER).toSorted());
  const streak = (length: number) => ({
    length,
    startDay: 20000,
    lastPeriod: 20001,
    extendedMs: 1700000000000,
    currentPeriod: 20002,
    sums: { 9: '3.5' },
  });
  expect(decodeState(packed)).toEqual({
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
    timePaid: { 6: 1660000000000 },
    importedBy: 'crm',
    importedMs: 1_772_000_000_000,
    boards: {
      8: [
        { runDay: 20000, group: '3:red', score: '12.5' },
        { runDay: 19993, group: '', score: '1' },
      ],
    },
  });
});

test('every field of a record that Redis packs has its name', async () => {
  const fields = Object.keys(RECORD).map((name) => `[RECORD.${name}] = '${name}'`);
  const text = inlineNames(`return cmsgpack.pack({ ${fields.join(', ')} })`, 'round trip');
  const record = unpack((await redis.callBuffer('EVAL', text, 0)) as Buffer) as Record<string, string>;
  expect(Object.keys(record).toSorted()).toEqual([...new Set(Object.values(RECORD))].toSorted());
});
