import { expect, test } from 'vitest';
import type { StreakSettings } from '../../../src/domain/fields/tenant-settings.ts';
import { streaksList, usersStreak } from '../../../src/operations/streaks.ts';
import { testDatabase } from '../../postgres/database.ts';
import { fitting, withReads, type ReadFixture } from '../read-fixture.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

const withStreaks = (settings: Partial<StreakSettings>, run: (reads: ReadFixture) => Promise<void>): Promise<void> =>
  withReads(
    database,
    (b) => {
      b.metric('m');
      b.streaks(settings);
    },
    run,
  );

const streakOf = async (reads: ReadFixture, user: string, periods = 7) =>
  fitting(usersStreak, await reads.streaks.ofUser(reads.compiled, user, periods));
const lengths = async (reads: ReadFixture, user: string, periods: number) =>
  (await streakOf(reads, user, periods)).streakHistory.map(({ length }) => length);

async function actOn(reads: ReadFixture, user: string, days: string[]): Promise<void> {
  for (const day of days) {
    reads.at(`${day}T12:00:00Z`);
    await reads.laurel.event('m', user, 1);
  }
}

test('a streak on its days: alive, waiting, over', () =>
  withStreaks({}, async (reads) => {
    await actOn(reads, 'u', ['2026-02-27', '2026-02-28']);
    expect(await streakOf(reads, 'u', 3)).toEqual({
      length: 2,
      frequency: 'daily',
      started: '2026-02-27',
      periodStart: '2026-02-28',
      periodEnd: '2026-02-28',
      expires: '2026-03-01',
      extended: '2026-02-28T12:00:00.000Z',
      streakHistory: [
        { periodStart: '2026-02-26', periodEnd: '2026-02-26', length: 0, usedFreeze: false, usedPause: false },
        { periodStart: '2026-02-27', periodEnd: '2026-02-27', length: 1, usedFreeze: false, usedPause: false },
        { periodStart: '2026-02-28', periodEnd: '2026-02-28', length: 2, usedFreeze: false, usedPause: false },
      ],
      pauses: [],
    });
    reads.at('2026-03-01T23:59:59Z');
    expect(await streakOf(reads, 'u', 0)).toMatchObject({
      length: 2,
      periodStart: '2026-03-01',
      expires: '2026-03-01',
      extended: '2026-02-28T12:00:00.000Z',
      streakHistory: [],
    });
    reads.at('2026-03-02T00:00:00Z');
    expect(await streakOf(reads, 'u', 4)).toMatchObject({
      length: 0,
      started: null,
      periodStart: null,
      periodEnd: null,
      expires: null,
      extended: null,
    });
    expect(await lengths(reads, 'u', 4)).toEqual([1, 2, 0, 0]);
  }));

test("keeps the recorded periods before the state's streak unchanged", () =>
  withStreaks({}, async (reads) => {
    await actOn(reads, 'u', ['2026-11-08', '2026-11-09', '2026-11-10', '2026-11-12', '2026-11-14', '2026-11-15']);
    await reads.persist();
    reads.at('2026-11-16T12:00:00Z');
    expect(await lengths(reads, 'u', 8)).toEqual([2, 3, 0, 1, 0, 1, 2, 2]);
    // An event without effect settles a streak that is over: the state forgets it.
    reads.at('2026-11-17T12:00:00Z');
    await reads.laurel.event('m', 'u', -1);
    await reads.persist();
    expect(await lengths(reads, 'u', 5)).toEqual([0, 1, 2, 0, 0]);
    await reads.laurel.event('m', 'u', 1);
    expect(await lengths(reads, 'u', 5)).toEqual([0, 1, 2, 0, 1]);
  }));

test.each([
  [
    'weekly',
    'sunday',
    ['2026-10-31', '2026-11-07', '2026-11-15'],
    '2026-11-21',
    [0, 1, 2, 0, 1],
    '2026-11-15',
    '2026-11-21',
  ],
  [
    'weekly',
    'monday',
    ['2026-10-31', '2026-11-07', '2026-11-15'],
    '2026-11-16',
    [0, 1, 2, 3, 3],
    '2026-11-16',
    '2026-11-22',
  ],
  [
    'monthly',
    'sunday',
    ['2026-01-31', '2026-02-01', '2026-04-30'],
    '2026-05-31',
    [1, 2, 0, 1, 1],
    '2026-05-01',
    '2026-05-31',
  ],
] as const)('%s (%s) from %j', (frequency, weekStart, days, today, expected, start, end) =>
  withStreaks({ frequency, weekStart }, async (reads) => {
    await actOn(reads, 'u', [...days]);
    await reads.persist();
    reads.at(`${today}T12:00:00Z`);
    expect(await lengths(reads, 'u', 5)).toEqual(expected);
    expect((await streakOf(reads, 'u')).streakHistory.at(-1)).toMatchObject({ periodStart: start, periodEnd: end });
  }),
);

test('the local day decides, and freezes are shown if the user has any', () =>
  withStreaks(
    { freezes: { enabled: true, initial: 2, max: 5, autoEarnInterval: 7, autoEarnAmount: null } },
    async (reads) => {
      reads.at('2026-11-18T11:00:00Z');
      await reads.laurel.event('m', { id: 'east', tz: 'Pacific/Kiritimati' }, 1);
      const streak = await streakOf(reads, 'east', 1);
      expect(streak).toMatchObject({ started: '2026-11-19', freezes: 2, maxFreezes: 5, freezeAutoEarnInterval: 7 });
      expect(streak).not.toHaveProperty('freezeAutoEarnAmount');
      reads.at('2026-11-20T09:59:59Z');
      expect((await streakOf(reads, 'east')).length).toBe(1);
      reads.at('2026-11-20T10:00:00Z');
      expect(await streakOf(reads, 'east', 2)).toMatchObject({
        length: 1,
        freezes: 1,
        streakHistory: [
          { length: 1, usedFreeze: true },
          { length: 1, usedFreeze: false },
        ],
      });
      reads.at('2026-11-21T10:00:00Z');
      expect(await streakOf(reads, 'east', 3)).toMatchObject({
        length: 1,
        freezes: 0,
        streakHistory: [
          { length: 1, usedFreeze: true },
          { length: 1, usedFreeze: true },
          { length: 1, usedFreeze: false },
        ],
      });
      reads.at('2026-11-22T10:00:00Z');
      expect((await streakOf(reads, 'east')).length).toBe(0);
    },
  ));

test('a replay answers with the current streak', () =>
  withStreaks({}, async (reads) => {
    reads.at('2026-11-01T12:00:00Z');
    await reads.laurel.event('m', 'u', 1, { key: 'k' });
    reads.at('2026-11-18T12:00:00Z');
    expect((await reads.laurel.event('m', 'u', 1, { key: 'k' })).currentStreak).toMatchObject({
      length: 0,
      started: null,
    });
  }));

test('streaks of several users: longest first, ties in the requested order, unknown ones 0', () =>
  withStreaks({}, async (reads) => {
    await actOn(reads, 'one', ['2026-11-18']);
    await actOn(reads, 'two', ['2026-11-17', '2026-11-18']);
    await actOn(reads, 'lost', ['2026-11-15', '2026-11-16']);
    await actOn(reads, 'too', ['2026-11-18']);
    const list = async (...users: string[]) => fitting(streaksList, await reads.streaks.list(reads.compiled, users));
    expect(await list('nobody', 'too', 'lost', 'one', 'two', 'too')).toEqual([
      { userId: 'two', streakLength: 2, extended: '2026-11-18T12:00:00.000Z' },
      { userId: 'too', streakLength: 1, extended: '2026-11-18T12:00:00.000Z' },
      { userId: 'one', streakLength: 1, extended: '2026-11-18T12:00:00.000Z' },
      { userId: 'nobody', streakLength: 0, extended: null },
      { userId: 'lost', streakLength: 0, extended: null },
    ]);
    await expect(list()).rejects.toMatchObject({ code: 'unprocessable' });
    await expect(list(...Array.from({ length: 101 }, (_, n) => `u${n}`))).rejects.toMatchObject({
      code: 'unprocessable',
    });
  }));

test('limits the number of periods, and does not find an unknown user', () =>
  withStreaks({}, async (reads) => {
    await reads.laurel.event('m', 'u', 1);
    expect(await lengths(reads, 'u', 1000)).toHaveLength(1000);
    for (const periods of [-1, 1001])
      await expect(streakOf(reads, 'u', periods)).rejects.toMatchObject({ code: 'unprocessable' });
    await expect(streakOf(reads, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
  }));
