import { expect, test } from 'vitest';
import { compileCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { NO_SCORE } from '../../../src/domain/leaderboard.ts';
import type { StreakSettings } from '../../../src/domain/fields/tenant-settings.ts';
import type { Notification, NotificationType } from '../../../src/domain/notifications/notification.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { fromRecord } from '../../../src/engine/notifications/entry-notifications.ts';
import { RecordedUser } from '../../../src/engine/notifications/rules.ts';
import type { HappenedRecord, RecordedStreak } from '../../../src/packed/record.ts';
import { KIND, RECORD, SETTLED } from '../../../src/packed/record-fields.ts';
import { FREQUENCY } from '../../../src/packed/user-fields.ts';
import type { User } from '../../../src/rules/user.ts';
import { checkPayload } from '../../contract/contract.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { packedState } from '../persist/outbox-writer.ts';

const AT = Date.UTC(2026, 2, 2, 9, 30);
const DAY = dayOf('2026-03-02');
const ID = '0195a5f27c3e7b1a9d3e2f6b8c1d0000';

const builder = new CatalogBuilder(4);
const cards = builder.metric('cards');
const shark = builder.achievement('metric', { key: 'shark', metricId: cards.id, metricValue: 10 });
const badge = builder.achievement('api', { key: 'badge' });
const xp = builder.system('xp');
const silver = builder.level(xp, 'silver', 10);
const gold = builder.level(xp, 'gold', 20);
const trigger = builder.trigger(xp, 'metric', { metricId: cards.id, metricThreshold: 1 });
const coins = builder.system('coins');
const boost = builder.boost(xp, {});
const board = builder.leaderboard('top', 'metric', { metricId: cards.id });
const laps = builder.leaderboard('laps', 'metric', { metricId: cards.id, aggregate: 'min', order: 'ascending' });

interface Given {
  record: Partial<HappenedRecord>;
  state?: Partial<User>;
  streaks?: Partial<StreakSettings>;
  wants?: (type: NotificationType) => boolean;
}

/** The notifications of a user's record, with each payload parsed and checked against the contract. */
function reported({ record, state = {}, streaks = {}, wants = () => true }: Given) {
  const compiled = compileCatalog({ ...builder.catalog, streaks: { ...builder.catalog.streaks, ...streaks } });
  const whole: HappenedRecord = {
    [RECORD.kind]: KIND.event,
    [RECORD.id]: ID,
    [RECORD.userId]: 'ana',
    [RECORD.atMs]: AT,
    [RECORD.day]: DAY,
    ...record,
  };
  const user = new RecordedUser({ compiled, controlShare: 0 }, 'ana', packedState(state));
  return fromRecord(compiled, wants, whole, user).map((notification: Notification) => {
    const payload = JSON.parse(notification.payload) as { type: string } & Record<string, unknown>;
    expect(payload.type).toBe(notification.type);
    checkPayload(payload);
    return { ...notification, payload };
  });
}

const types = (given: Given): string[] => reported(given).map(({ type }) => type);

const streak = (length: number, extended: 0 | 1): RecordedStreak => [length, DAY - length + 1, DAY, extended, 3];
const { daily, weekly } = FREQUENCY;

test('a notification contains its user, time and subject', () => {
  const [notification] = reported({ record: { [RECORD.completed]: [shark.no] }, state: { name: 'Ana' } });
  expect(notification).toMatchObject({
    type: 'achievement.completed',
    tenantNo: 4,
    userId: 'ana',
    atMs: AT,
    source: `${ID}:${shark.no}`,
    about: { metricId: cards.id },
    payload: {
      user: { id: 'ana', name: 'Ana' },
      achievement: { id: shark.id, achievedAt: '2026-03-02T09:30:00.000Z' },
    },
  });
});

test('reports each completion by event, call or clock with its points; not backdated ones', () => {
  const completed = { [RECORD.completed]: [shark.no, badge.no] };
  expect(reported({ record: completed }).map(({ source }) => source)).toEqual([
    `${ID}:${shark.no}`,
    `${ID}:${badge.no}`,
  ]);
  expect(types({ record: { ...completed, [RECORD.kind]: KIND.completion } })).toHaveLength(2);
  const paid = { ...completed, [RECORD.points]: [[xp.no, 0, 12, [[trigger.no, 12, 12, []]]]] } as Given['record'];
  const moved = { ...paid, [RECORD.boards]: [[board.no, DAY, '', -1, 1, 0]] } as Given['record'];
  expect(types({ record: moved })).toHaveLength(5);
  expect(types({ record: { ...moved, [RECORD.backdated]: 1 } })).toEqual([]);
  expect(reported({ record: { [RECORD.completed]: [badge.no] } })[0]?.about).toEqual({});
});

const streakCases: [string, Given, string[]][] = [
  ['a first period', { record: { [RECORD.streak]: streak(1, 1) } }, ['streak.started']],
  ['a further period', { record: { [RECORD.streak]: streak(2, 1) } }, ['streak.extended']],
  ['an event in a period that is met', { record: { [RECORD.streak]: streak(2, 0) } }, []],
  [
    'a midnight that ends the streak',
    { record: { [RECORD.kind]: KIND.streaks, [RECORD.settlements]: [[daily, SETTLED.lost, DAY - 9, DAY - 2, 8]] } },
    ['streak.lost'],
  ],
  [
    'a streak lost in a frequency that is not the configured one',
    { record: { [RECORD.settlements]: [[weekly, SETTLED.lost, DAY - 20, DAY - 8, 2]] } },
    [],
  ],
  ['a reset', { record: { [RECORD.settlements]: [[daily, SETTLED.reset, DAY - 3, DAY, 4]] } }, ['streak.lost']],
  [
    'a restored streak, and one that gave way to it',
    {
      record: {
        [RECORD.settlements]: [
          [daily, SETTLED.replaced, DAY, DAY, 1],
          [daily, SETTLED.restored, DAY - 9, DAY, 8],
        ],
      },
    },
    [],
  ],
  ['a pause', { record: { [RECORD.settlements]: [[daily, SETTLED.pause, DAY - 1, DAY - 1]] } }, []],
  ['a day off', { record: { [RECORD.settlements]: [[daily, SETTLED.off, DAY - 1, DAY - 1]] } }, []],
  [
    'a freeze, and the event after it',
    {
      record: {
        [RECORD.settlements]: [[daily, SETTLED.freeze, DAY - 1, DAY - 1]],
        [RECORD.freezes]: 1,
        [RECORD.streak]: streak(5, 1),
      },
    },
    ['streak.freeze_consumed', 'streak.extended'],
  ],
  [
    'a freeze that is consumed by the clock: the streak is kept, not extended',
    {
      record: {
        [RECORD.kind]: KIND.streaks,
        [RECORD.settlements]: [[daily, SETTLED.freeze, DAY - 1, DAY - 1]],
        [RECORD.freezes]: 0,
      },
    },
    ['streak.freeze_consumed'],
  ],
  [
    'freezes earned, used up, and the streak lost; then the first event of the next',
    {
      record: {
        [RECORD.settlements]: [
          [daily, SETTLED.freeze, DAY - 4, DAY - 3],
          [daily, SETTLED.lost, DAY - 9, DAY - 3, 7],
        ],
        [RECORD.freezesEarned]: 1,
        [RECORD.freezes]: 0,
        [RECORD.streak]: streak(1, 1),
      },
    },
    ['streak.freeze_earned', 'streak.freeze_consumed', 'streak.lost', 'streak.started'],
  ],
];

test.each(streakCases)('streaks: %s', (_name, given, expected) => {
  expect(types(given)).toEqual(expected);
  // Nothing about streaks if they are switched off, for all or by the user.
  expect(types({ ...given, streaks: { enabled: false } })).toEqual([]);
  const off = { ...given, state: { streakRule: { enabled: false, all: null, metrics: [] } } };
  expect(types({ ...off, streaks: { personalization: true } })).toEqual([]);
  expect(types(off)).toEqual([]);
  const own = { ...given, state: { streakRule: { enabled: null, all: true, metrics: [] } } };
  expect(types({ ...own, streaks: { personalization: true } })).toEqual(expected);
});

test('streaks: payloads hold the streak after the event, the length that was lost, freezes used and left', () => {
  const record: Given['record'] = {
    [RECORD.settlements]: [
      [daily, SETTLED.freeze, DAY - 7, DAY - 6],
      [daily, SETTLED.pause, DAY - 5, DAY - 5],
      [daily, SETTLED.freeze, DAY - 4, DAY - 4],
      [daily, SETTLED.lost, DAY - 12, DAY - 4, 5],
    ],
    [RECORD.freezesEarned]: 2,
    [RECORD.freezes]: 1,
    [RECORD.streak]: streak(1, 1),
  };
  expect(reported({ record }).map(({ payload: { type: _type, user: _user, ...rest } }) => rest)).toEqual([
    { earned: 2, freezes: 1 },
    { consumed: 3, freezes: 1 },
    { length: 5 },
    {
      streak: {
        length: 1,
        frequency: 'daily',
        started: '2026-03-02',
        periodStart: '2026-03-02',
        periodEnd: '2026-03-02',
        expires: '2026-03-03',
      },
    },
  ]);
  const weeks: Given['record'] = {
    [RECORD.settlements]: [[weekly, SETTLED.freeze, DAY - 22, DAY - 9]],
    [RECORD.freezes]: 0,
  };
  expect(reported({ record: weeks, streaks: { frequency: 'weekly' } })[0]?.payload).toMatchObject({ consumed: 2 });
});

test('points: a change of each system as in the answer to an event, with its awards', () => {
  const record = {
    [RECORD.points]: [
      [coins.no, 5, 6, [[trigger.no, 1, 6, []]]],
      [xp.no, 8, 12, [[trigger.no, 4, 12, [boost.no]]]],
    ],
  } as Given['record'];
  const [first, second, third, ...others] = reported({ record });
  expect(others).toEqual([]);
  expect(first).toMatchObject({ about: { pointsSystemId: coins.id }, payload: { points: { key: 'coins', added: 1 } } });
  expect(first?.payload['points']).not.toHaveProperty('level');
  expect(second).toMatchObject({
    type: 'points.changed',
    source: `${ID}:${xp.no}`,
    about: { pointsSystemId: xp.id },
    payload: {
      points: {
        key: 'xp',
        total: 12,
        added: 4,
        level: { key: 'silver' },
        awards: [{ awarded: 4, total: 12, trigger: { id: trigger.id }, boosts: [{ id: boost.id }] }],
      },
    },
  });
  expect(second).toMatchObject({ payload: { points: { awards: [{ id: expect.stringMatching(/0002$/) as string }] } } });
  expect(third).toMatchObject({
    type: 'points.level_changed',
    payload: { points: { key: 'xp', total: 12 }, previousLevel: null, newLevel: { id: silver.id } },
  });
});

const levels: [number, number, unknown][] = [
  [8, 12, [null, silver.key]],
  [12, 19, undefined],
  [12, 40, [silver.key, gold.key]],
  [40, 12, [gold.key, silver.key]],
  [12, 3, [silver.key, null]],
];

test.each(levels)('points: from %d to %d the level changes: %j', (before, after, expected) => {
  const record = { [RECORD.points]: [[xp.no, before, after, [[trigger.no, after - before, after, []]]]] };
  const level = reported({ record: record as unknown as Given['record'] })[1]?.payload;
  const key = (one: unknown): unknown => (one as { key: string } | null)?.key ?? null;
  expect(level && [key(level['previousLevel']), key(level['newLevel'])]).toEqual(expected);
});

const places: [string, unknown[], object | null][] = [
  ['appears', [-1, 3, 0, 0, 8], { rank: 3, value: 8, previousRank: null, previousValue: null }],
  ['moves', [3, 1, 0, 8, 20], { rank: 1, value: 20, previousRank: 3, previousValue: 8 }],
  ['leaves', [1, -1, 0, 20, 0], { rank: null, value: null, previousRank: 1, previousValue: 20 }],
  ['stays', [1, 1, 0, 20, 21], null],
  ['stays off the board', [-1, -1, 30, 0, 8], null],
  ['moves, in a record that holds no scores', [3, 1, 0], { rank: 1, value: 21, previousRank: 3, previousValue: null }],
];

test.each(places)('leaderboards: a user who %s', (_name, recorded, expected) => {
  const runDay = dayOf(board.start);
  const record = { [RECORD.boards]: [[board.no, runDay, '', ...recorded]] } as unknown as Given['record'];
  const state = { scores: [{ board: board.no, runDay, group: '', whole: 21, micros: 0 }] };
  const all = reported({ record, state });
  expect(all).toHaveLength(expected === null ? 0 : 1);
  if (expected === null) return;
  expect(all[0]).toMatchObject({ type: 'leaderboard.rank_changed', about: { leaderboardId: board.id } });
  expect(all[0]?.payload['leaderboard']).toMatchObject({ key: 'top', status: 'active', ...expected });
});

test('leaderboards in ascending order: values, and not the negated scores', () => {
  const recorded = (...change: number[]) => [laps.no, dayOf(laps.start), '', ...change];
  const record = { [RECORD.boards]: [recorded(2, 1, NO_SCORE, -55, 3), recorded(1, -1, -4, 3, NO_SCORE)] };
  const all = reported({ record: record as unknown as Given['record'] });
  expect(all.map(({ payload }) => payload['leaderboard'])).toMatchObject([
    { order: 'ascending', rank: 1, value: -3, previousRank: 2, previousValue: 55 },
    { order: 'ascending', rank: null, value: null, previousRank: 1, previousValue: -3 },
  ]);
});

const everything: Given['record'] = {
  [RECORD.streak]: streak(1, 1),
  [RECORD.completed]: [shark.no],
  [RECORD.points]: [[xp.no, 8, 12, [[trigger.no, 4, 12, []]]]],
  [RECORD.boards]: [[board.no, dayOf(board.start), '', -1, 1, 0]],
};

test('makes only what is wanted, in one order', () => {
  const all = types({ record: everything });
  expect(all).toEqual([
    'streak.started',
    'achievement.completed',
    'points.changed',
    'points.level_changed',
    'leaderboard.rank_changed',
  ]);
  for (const type of all) expect(types({ record: everything, wants: (wanted) => wanted === type })).toEqual([type]);
});

test('does not decode the user if nothing is wanted', () => {
  const compiled = compileCatalog(builder.catalog);
  const broken = new RecordedUser({ compiled, controlShare: 0 }, 'ana', Buffer.from([0xc1]));
  const record = {
    [RECORD.kind]: KIND.event,
    [RECORD.id]: ID,
    [RECORD.userId]: 'ana',
    [RECORD.atMs]: AT,
    [RECORD.day]: DAY,
  };
  const whole = { ...record, ...everything } as HappenedRecord;
  expect(fromRecord(compiled, () => false, whole, broken)).toEqual([]);
  expect(() => fromRecord(compiled, () => true, whole, broken)).toThrow('not a packed user state');
});

test('does not report what has been deleted since; shows an award without its deleted trigger', () => {
  const gone = 99;
  expect(types({ record: { [RECORD.completed]: [gone], [RECORD.boards]: [[gone, DAY, '', -1, 1, 0]] } })).toEqual([]);
  const record = { [RECORD.points]: [[xp.no, 1, 5, [[gone, 4, 5, [gone]]]]] } as Given['record'];
  expect(reported({ record })[0]?.payload['points']).toMatchObject({ added: 4, awards: [{ awarded: 4, total: 5 }] });
});
