import { expect, test } from 'vitest';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { testDatabase } from '../../postgres/database.ts';
import { withReads, type ReadFixture } from '../read-fixture.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

const NOW = '2026-03-10T12:00:00Z';

/** A user who acted at noon on some days, seen on the 10th of March; the streak has two freezes. */
const withUser = (
  days: readonly number[],
  run: (reads: ReadFixture) => Promise<void>,
  more: (b: CatalogBuilder) => void = () => undefined,
): Promise<void> =>
  withReads(
    database,
    (b) => {
      b.metric('m');
      b.streaks({ freezes: { enabled: true, initial: 1, max: 2, autoEarnInterval: null, autoEarnAmount: null } });
      more(b);
    },
    async (reads) => {
      for (const day of days) {
        reads.at(`2026-03-${String(day).padStart(2, '0')}T12:00:00Z`);
        await reads.laurel.event('m', 'u', 1);
      }
      reads.at(NOW);
      await reads.persist();
      await run(reads);
    },
  );

/** The test's worker: it stores the entries that a late event waits for. */
async function late(reads: ReadFixture, occurredAt: string, more: { key?: string; value?: number } = {}) {
  await reads.persist();
  const { value = 1, ...rest } = more;
  return reads.laurel.event('m', 'u', value, { occurredAt, ...rest });
}

const history = async (reads: ReadFixture): Promise<(number | string)[]> => {
  await reads.persist();
  const { streakHistory } = await reads.streaks.ofUser(reads.compiled, 'u', 9);
  return streakHistory.map(({ length, usedFreeze }) => (usedFreeze === true ? `${length}f` : length));
};

test('joins a streak that ended at the gap, and returns the freeze used in it', () =>
  withUser([2, 3, 4, 7, 8, 9, 10], async (reads) => {
    expect(await history(reads)).toEqual([1, 2, 3, '3f', 0, 1, 2, 3, 4]);
    const answer = await late(reads, '2026-03-06T09:00:00+01:00');
    expect(answer).toMatchObject({
      status: 201,
      total: 8,
      currentStreak: { length: 8, started: '2026-03-02', freezes: 0, extended: true },
    });
    expect(await history(reads)).toEqual([1, 2, 3, '3f', 4, 5, 6, 7, 8]);
    const joined = await late(reads, '2026-03-05T23:59:59Z');
    expect(joined.currentStreak).toMatchObject({ length: 9, freezes: 1 });
    expect(await history(reads)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const { rows } = await reads.pool.query(
      `SELECT local_date::text AS day, occurred_at AT TIME ZONE 'UTC' AS at FROM events WHERE occurred_at IS NOT NULL ORDER BY 1`,
    );
    expect(rows.map(({ day }) => day)).toEqual(['2026-03-05', '2026-03-06']);
    const { rows: erased } = await reads.pool.query('SELECT FROM streak_changes WHERE superseded_by IS NOT NULL');
    expect(erased.length).toBeGreaterThan(0);
  }));

test('a late event with a used key changes nothing, and gets the usual answer', () =>
  withUser([2, 3, 10], async (reads) => {
    const first = await late(reads, '2026-03-09T10:00:00Z', { key: 'k' });
    const again = await late(reads, '2026-03-09T10:00:00Z', { key: 'k' });
    expect([first.status, again.status, again.eventId, again.total]).toEqual([201, 202, first.eventId, 4]);
  }));

test('an event of today takes the normal path, and keeps its time', () =>
  withUser([9], async (reads) => {
    const answer = await reads.laurel.event('m', 'u', 1, { occurredAt: '2026-03-10T00:10:00Z' });
    expect(answer.currentStreak).toMatchObject({ length: 2, extended: true });
    await reads.persist();
    const { rows } = await reads.pool.query('SELECT occurred_at AS at FROM events WHERE occurred_at IS NOT NULL');
    expect(rows).toEqual([{ at: new Date('2026-03-10T00:10:00Z') }]);
    const { extended } = await reads.streaks.ofUser(reads.compiled, 'u', 0);
    expect(extended).toBe('2026-03-10T00:10:00.000Z');
  }));

test('of two events of today the one that happened first extends the streak, in either order of arrival', () =>
  withUser([9], async (reads) => {
    for (const time of ['09:00', '07:00', '08:00'])
      await reads.laurel.event('m', 'u', 1, { occurredAt: `2026-03-10T${time}:00Z` });
    await reads.laurel.event('m', 'u', -1, { occurredAt: '2026-03-10T06:00:00Z' });
    await reads.persist();
    const { length, extended } = await reads.streaks.ofUser(reads.compiled, 'u', 0);
    expect([length, extended]).toEqual([2, '2026-03-10T07:00:00.000Z']);
  }));

test('the first event of a user may be late', () =>
  withUser([], async (reads) => {
    for (const day of ['08', '10', '09']) await late(reads, `2026-03-${day}T10:00:00Z`);
    expect(await history(reads)).toEqual([0, 0, 0, 0, 0, 0, 1, 2, 3]);
  }));

test('a guard that clamps the value clamps it for the streak as well', () =>
  withUser(
    [8, 10],
    async (reads) => {
      const { total } = await late(reads, '2026-03-09T10:00:00Z', { value: 5 });
      expect(total).toBe(5);
      expect(await history(reads)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
      await late(reads, '2026-03-09T11:00:00Z', { value: 1 });
      expect(await history(reads)).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1]);
    },
    (b) => {
      const [metric] = b.catalog.metrics;
      metric!.guards = { maxValue: { limit: 3, action: 'clamp' } };
      b.streaks({ metrics: [{ metricId: metric!.id, threshold: 4 }] });
    },
  ));

test('awards points and achievements of a joined streak once, now', () =>
  withUser(
    [6, 7, 9, 10],
    async (reads) => {
      // A freeze held the streak together: lengths 2 and 4 are already paid.
      const answer = await late(reads, '2026-03-08T10:00:00Z');
      expect(answer.currentStreak.length).toBe(5);
      expect(answer.achievements.map(({ name }) => name)).toEqual(['Five days']);
      expect(answer.points['xp']).toMatchObject({ added: 100 });
      const again = await late(reads, '2026-03-05T10:00:00Z');
      expect([again.currentStreak.length, again.achievements, again.points['xp']?.added ?? 0]).toEqual([6, [], 1001]);
    },
    (b) => {
      b.achievement('streak', { name: 'Five days', streakLength: 5 });
      const xp = b.system('xp', {});
      b.trigger(xp, 'streak', { streakLength: 2, points: 1 });
      b.trigger(xp, 'streak', { streakLength: 5, points: 100 });
      b.trigger(xp, 'streak', { streakLength: 6, points: 1000 });
    },
  ));

test('moves open leaderboards if it happened in their hours, and never final runs', () =>
  withUser(
    [9],
    async (reads) => {
      reads.at('2026-03-10T11:59:59Z');
      await late(reads, '2026-03-09T05:00:00Z', { value: 5 });
      await late(reads, '2026-03-09T07:00:00Z', { value: 7 });
      await late(reads, '2026-03-08T07:00:00Z', { value: 11 });
      const scores = async (key: string, runDay?: string) => {
        const { rankings } = (await reads.leaderboards.rankings(reads.compiled, key, {
          run: runDay,
          offset: 0,
          limit: 10,
        } as never)) as { rankings: { value: number }[] };
        return rankings.map(({ value }) => value);
      };
      expect(await scores('all')).toEqual([24]);
      expect(await scores('mornings')).toEqual([18]);
      expect(await scores('days', '2026-03-09')).toEqual([13]);
      expect(await scores('days', '2026-03-08')).toEqual([]);
      reads.at(NOW);
      await late(reads, '2026-03-09T07:00:00Z', { value: 100 });
      expect(await scores('days', '2026-03-09')).toEqual([13]);
      expect(await scores('all')).toEqual([124]);
    },
    (b) => {
      b.leaderboard('all', 'metric', { metricId: b.catalog.metrics[0]!.id, start: '2026-01-01' });
      b.leaderboard('mornings', 'metric', {
        metricId: b.catalog.metrics[0]!.id,
        start: '2026-01-01',
        startTime: '06:00',
        endTime: '11:00',
      });
      b.leaderboard('days', 'metric', {
        metricId: b.catalog.metrics[0]!.id,
        start: '2026-01-01',
        runUnit: 'day',
        runInterval: 1,
      });
    },
  ));

test.each([
  ['2026-03-10T12:05:01Z', 422],
  ['2026-02-03T11:59:59Z', 422],
  ['2026-02-03T12:00:01Z', 201],
  ['2026-03-10T12:04:59Z', 201],
])('%s: %d', (occurredAt, status) =>
  withUser([9], async (reads) => {
    const answered = late(reads, occurredAt).then(
      (answer) => answer.status,
      (error: { status: number; message: string }) => {
        expect(error.message).toContain('occurredAt');
        return error.status;
      },
    );
    expect(await answered).toBe(status);
  }),
);
