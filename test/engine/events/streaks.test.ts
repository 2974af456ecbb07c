import { expect, test } from 'vitest';
import type { StreakSettings } from '../../../src/domain/fields/tenant-settings.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const builder = new CatalogBuilder();
const flips = builder.metric('flips');
const minutes = builder.metric('minutes');

async function withStreaks(
  settings: Partial<StreakSettings>,
  run: (laurel: TestEngine) => Promise<void>,
): Promise<void> {
  const laurel = new TestEngine(stack.redisUrl, {
    ...builder.catalog,
    streaks: { ...builder.catalog.streaks, ...settings },
  });
  try {
    await run(laurel);
  } finally {
    await laurel.close();
  }
}
const at = (laurel: TestEngine, iso: string): void => laurel.clock.set(Date.parse(iso));
const streak = async (laurel: TestEngine, user: Parameters<TestEngine['event']>[1], value = 1, metric = 'flips') => {
  const { length, extended } = (await laurel.event(metric, user, value)).currentStreak;
  return [length, extended];
};

test('daily: grows by a day, once a day; a missed day ends it', () =>
  withStreaks({}, async (laurel) => {
    at(laurel, '2026-02-27T10:00:00Z');
    const first = await laurel.event('flips', 'u', 1);
    expect(first.currentStreak).toEqual({
      length: 1,
      frequency: 'daily',
      started: '2026-02-27',
      periodStart: '2026-02-27',
      periodEnd: '2026-02-27',
      expires: '2026-02-28',
      extended: true,
    });
    expect(await streak(laurel, 'u')).toEqual([1, false]);
    at(laurel, '2026-02-28T23:59:59Z');
    expect(await streak(laurel, 'u')).toEqual([2, true]);
    at(laurel, '2026-03-01T00:00:00Z');
    expect(await streak(laurel, 'u')).toEqual([3, true]);
    at(laurel, '2026-03-03T00:00:00Z');
    const again = await laurel.event('flips', 'u', 1);
    expect(again.currentStreak).toMatchObject({ length: 1, started: '2026-03-03', extended: true });
  }));

test('without chosen metrics only a positive value counts; a period without one is null', () =>
  withStreaks({}, async (laurel) => {
    const none = await laurel.event('flips', 'u', 0);
    expect(none.currentStreak).toEqual({
      length: 0,
      frequency: 'daily',
      started: null,
      periodStart: null,
      periodEnd: null,
      expires: null,
      extended: false,
    });
    expect(await streak(laurel, 'u', -1)).toEqual([0, false]);
    expect(await streak(laurel, 'u', 0.000001)).toEqual([1, true]);
  }));

test('OR: one metric suffices, by the sum of the period; a met period stays met', () =>
  withStreaks(
    {
      metrics: [
        { metricId: flips.id, threshold: 3 },
        { metricId: minutes.id, threshold: 0.5 },
      ],
    },
    async (laurel) => {
      expect(await streak(laurel, 'u', 2)).toEqual([0, false]);
      expect(await streak(laurel, 'u', 1)).toEqual([1, true]);
      expect(await streak(laurel, 'u', -3)).toEqual([1, false]);
      expect(await streak(laurel, 'u', 9)).toEqual([1, false]);
      laurel.clock.set(laurel.clock.now() + 86_400_000);
      expect(await streak(laurel, 'u', 2)).toEqual([1, false]);
      expect(await streak(laurel, 'u', 0.5, 'minutes')).toEqual([2, true]);
    },
  ));

test('AND: all metrics must reach their threshold', () =>
  withStreaks(
    {
      evaluationMode: 'AND',
      metrics: [
        { metricId: flips.id, threshold: 3 },
        { metricId: minutes.id, threshold: 1 },
      ],
    },
    async (laurel) => {
      expect(await streak(laurel, 'u', 5)).toEqual([0, false]);
      expect(await streak(laurel, 'u', 1, 'minutes')).toEqual([1, true]);
    },
  ));

test.each([
  ['weekly', 'sunday', '2026-11-14T12:00:00Z', '2026-11-15T12:00:00Z', '2026-11-15', '2026-11-21', '2026-11-28'],
  ['weekly', 'monday', '2026-11-15T12:00:00Z', '2026-11-16T12:00:00Z', '2026-11-16', '2026-11-22', '2026-11-29'],
  ['monthly', 'sunday', '2026-01-31T12:00:00Z', '2026-02-01T12:00:00Z', '2026-02-01', '2026-02-28', '2026-03-31'],
] as const)('%s (%s)', (frequency, weekStart, first, second, periodStart, periodEnd, expires) =>
  withStreaks({ frequency, weekStart }, async (laurel) => {
    at(laurel, first);
    expect(await streak(laurel, 'u')).toEqual([1, true]);
    at(laurel, second);
    const { currentStreak } = await laurel.event('flips', 'u', 1);
    expect(currentStreak).toMatchObject({
      length: 2,
      extended: true,
      periodStart,
      periodEnd,
      expires,
    });
  }),
);

test('tracks all three frequencies at once: switching shows the true streak', () =>
  withStreaks({}, async (laurel) => {
    for (const day of ['2026-09-30', '2026-10-20', '2026-11-17', '2026-11-18']) {
      at(laurel, `${day}T12:00:00Z`);
      await laurel.event('flips', 'u', 1);
    }
    laurel.catalog = {
      ...laurel.catalog,
      streaks: { ...laurel.catalog.streaks, frequency: 'monthly' },
    };
    expect(await streak(laurel, 'u')).toEqual([3, false]);
    laurel.catalog = {
      ...laurel.catalog,
      streaks: { ...laurel.catalog.streaks, frequency: 'weekly' },
    };
    expect(await streak(laurel, 'u')).toEqual([1, false]);
  }));

test("uses the user's local day, also after a change to daylight saving", () =>
  withStreaks({}, async (laurel) => {
    const user = { id: 'berlin', tz: 'Europe/Berlin' };
    at(laurel, '2026-03-27T22:30:00Z');
    expect(await streak(laurel, user)).toEqual([1, true]);
    at(laurel, '2026-03-27T23:30:00Z'); // 00:30 on the 28th
    expect(await streak(laurel, 'berlin')).toEqual([2, true]);
    at(laurel, '2026-03-29T22:30:00Z'); // summer time since the 29th: 00:30 on the 30th
    expect(await streak(laurel, 'berlin')).toEqual([1, true]);
    at(laurel, '2026-03-30T22:30:00Z');
    expect(await streak(laurel, 'berlin')).toEqual([2, true]);
  }));

test('a change of zone alone neither ends a streak nor gains a day', () =>
  withStreaks({}, async (laurel) => {
    at(laurel, '2026-11-18T10:30:00Z');
    expect(await streak(laurel, { id: 'u', tz: 'Pacific/Niue' })).toEqual([1, true]); // 23:30 on the 17th
    expect(await streak(laurel, { id: 'u', tz: 'Pacific/Kiritimati' })).toEqual([1, false]); // 00:30 on the 19th
    at(laurel, '2026-11-19T10:30:00Z');
    expect(await streak(laurel, 'u')).toEqual([2, true]);
    expect(await streak(laurel, { id: 'u', tz: 'America/New_York' })).toEqual([2, false]);
    at(laurel, '2026-11-20T12:00:00Z');
    expect(await streak(laurel, 'u')).toEqual([2, false]);
    at(laurel, '2026-11-21T12:00:00Z');
    expect(await streak(laurel, 'u')).toEqual([3, true]);
  }));

test('a streak that starts over on a day repeated by a journey back does not gain the next day on the way on', () =>
  withStreaks({}, async (laurel) => {
    at(laurel, '2026-11-18T12:00:00Z');
    expect(await streak(laurel, { id: 'u' })).toEqual([1, true]);
    at(laurel, '2026-11-20T00:00:00Z'); // the 19th in Niue
    expect(await streak(laurel, { id: 'u', tz: 'Pacific/Niue' })).toEqual([1, true]);
    expect(await streak(laurel, { id: 'u', tz: '' })).toEqual([1, false]);
    expect(await streak(laurel, 'u')).toEqual([1, false]);
    at(laurel, '2026-11-21T00:00:00Z');
    expect(await streak(laurel, 'u')).toEqual([2, true]);
  }));

test('a journey over the end of a week: the week before it counts once, and the next one can be met', () =>
  withStreaks({ frequency: 'weekly' }, async (laurel) => {
    at(laurel, '2026-11-16T12:00:00Z');
    expect(await streak(laurel, { id: 'met', tz: 'America/New_York' })).toEqual([1, true]);
    expect(await streak(laurel, { id: 'waits', tz: 'America/New_York' })).toEqual([1, true]);
    at(laurel, '2026-11-23T12:00:00Z');
    expect(await streak(laurel, 'met')).toEqual([2, true]);
    at(laurel, '2026-11-29T02:00:00Z'); // Saturday evening in New York, Sunday in Berlin
    expect(await streak(laurel, { id: 'met', tz: 'Europe/Berlin' }, 0)).toEqual([2, false]);
    expect(await streak(laurel, { id: 'waits', tz: 'Europe/Berlin' }, 0)).toEqual([1, false]);
    at(laurel, '2026-12-02T12:00:00Z');
    expect(await streak(laurel, 'met')).toEqual([3, true]);
    expect(await streak(laurel, 'waits')).toEqual([2, true]);
  }));

test('crossing the date line back and forth gains nothing', () =>
  withStreaks({}, async (laurel) => {
    at(laurel, '2026-11-18T10:30:00Z');
    expect(await streak(laurel, { id: 'u', tz: 'Pacific/Kiritimati' })).toEqual([1, true]); // on the 19th
    at(laurel, '2026-11-19T10:30:00Z');
    for (const tz of ['Pacific/Niue', 'Pacific/Kiritimati', 'Pacific/Niue', 'Pacific/Kiritimati']) {
      expect(await streak(laurel, { id: 'u', tz }, 0)).toEqual([1, false]);
    }
    expect(await streak(laurel, 'u')).toEqual([2, true]);
  }));

test('new users start with the initial freezes', () =>
  withStreaks(
    { freezes: { enabled: true, initial: 2, max: 5, autoEarnInterval: 7, autoEarnAmount: 1 } },
    async (laurel) => {
      const { currentStreak } = await laurel.event('flips', 'u', 1);
      expect(currentStreak).toMatchObject({
        freezes: 2,
        maxFreezes: 5,
        freezeAutoEarnInterval: 7,
        freezeAutoEarnAmount: 1,
      });
    },
  ));

test('applying an event of the day before late keeps everything that counts for today', () =>
  withStreaks({ metrics: [{ metricId: flips.id, threshold: 3 }] }, async (laurel) => {
    at(laurel, '2026-11-19T00:00:01Z');
    expect(await streak(laurel, 'u', 2)).toEqual([0, false]);
    at(laurel, '2026-11-18T23:59:59Z');
    expect(await streak(laurel, 'u', 0.5)).toEqual([0, false]);
    at(laurel, '2026-11-19T00:00:02Z');
    expect(await streak(laurel, 'u', 1)).toEqual([1, true]);
  }));
