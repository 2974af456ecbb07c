import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeChanges, createSnapshotPacker } from '../../../src/engine/leaderboards/snapshot-parts.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

type Ranks = Record<string, number>;

/** Of users whose rank differs: how many, and the sum of the differences; and the users of the second only. */
function differences(before: Ranks, after: Ranks) {
  const both = Object.keys(after).filter((user) => Object.hasOwn(before, user));
  const distances = both.map((user) => Math.abs(after[user]! - before[user]!)).filter((distance) => distance > 0);
  return {
    changed: distances.length,
    distance: distances.reduce((sum, distance) => sum + distance, 0),
    joined: Object.keys(after).length - both.length,
  };
}

function packed(ranks: Ranks, parts: number): Buffer[] {
  const packer = createSnapshotPacker(parts);
  for (const [userId, rank] of Object.entries(ranks)) packer.add({ userId, rank, score: 1 });
  return packer.packed();
}

test('two snapshots are compared user by user, whatever their numbers of parts', async () => {
  const ranks = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 3 }), fc.integer({ min: 1, max: 4 }), {
    noNullPrototype: true,
  });
  const parts = fc.constantFrom(1, 2, 4, 16);
  await fc.assert(
    fc.asyncProperty(ranks, ranks, parts, parts, async (before, after, partsBefore, partsAfter) => {
      expect(await placeChanges(packed(before, partsBefore), packed(after, partsAfter))).toEqual(
        differences(before, after),
      );
      expect(await placeChanges([], packed(after, partsAfter))).toEqual(differences({}, after));
    }),
  );
});

test('analytics count the users of each day whose rank is another than the day before in the same run', async () => {
  const run = {
    key: 'board',
    name: 'Board',
    rankBy: 'metric',
    metricKey: 'm',
    status: 'active',
    start: '2026-11-02',
  } as const;
  const boards = await BoardsByTheClock.start('2026-11-02T12:00:00Z', [{ ...run, runUnit: 'day', runInterval: 7 }]);
  try {
    const days: Record<string, [user: string, value: number][]> = {
      '2026-11-02': [
        ['ada', 10],
        ['ben', 8],
        ['cyd', 8],
      ],
      // From 1, 2, 2 to 3, 1, 2; somebody new comes last.
      '2026-11-03': [
        ['ben', 20],
        ['cyd', 10],
        ['new', 1],
      ],
      '2026-11-04': [],
      '2026-11-05': [['new', 100]],
      // The first day of the next run.
      '2026-11-09': [
        ['cyd', 1],
        ['ada', 2],
      ],
      '2026-11-10': [['cyd', 5]],
    };
    for (const [date, events] of Object.entries(days)) {
      await boards.at(`${date}T12:00:00Z`);
      await boards.due();
      for (const [user, value] of events) await boards.event(user, value);
    }
    await boards.at('2026-11-11T12:00:00Z');
    await boards.due();
    const { status, body } = await boards.laurel.admin.get('/v1/analytics/leaderboards?from=2026-11-03&to=2026-11-11');
    expect(status).toBe(200);
    const [board] = body.leaderboards;
    type Day = { date: string; changed: number; distance: number; joined: number };
    const counted = board.days.map(({ date, changed, distance, joined }: Day) => [date, changed, distance, joined]);
    expect(counted.filter(([, ...counts]: number[]) => counts.some((count) => count > 0))).toEqual([
      ['2026-11-03', 2, 3, 1],
      ['2026-11-05', 4, 6, 0],
      ['2026-11-09', 0, 0, 2],
      ['2026-11-10', 2, 2, 0],
    ]);
    expect([board.changed, board.changedBefore]).toEqual([8, 0]);
    expect(board.days[0].joinedBefore).toBe(0);
    const later = await boards.laurel.admin.get('/v1/analytics/leaderboards?from=2026-11-06&to=2026-11-09');
    expect(later.body.leaderboards[0]).toMatchObject({ changed: 0, changedBefore: 6 });
    expect(later.body.leaderboards[0].days[0]).toMatchObject({ date: '2026-11-06', joinedBefore: 3 });
  } finally {
    await boards.laurel.close();
  }
});
