import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StreakSettings } from '../../../src/domain/catalog.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { replayStreaks } from '../../../src/domain/replay-streaks.ts';
import { readStreakFacts } from '../../../src/engine/corrections/streak-facts.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';
import { withReads, type ReadFixture } from '../read-fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

/** Everything that is settled meanwhile is earned, used, or lost: 2 freezes at first, one more every 3 days. */
const SETTINGS: Partial<StreakSettings> = {
  daysOff: [0],
  freezes: { enabled: true, initial: 1, max: 2, autoEarnInterval: 3, autoEarnAmount: 1 },
};

const withHistory = (days: readonly string[], run: (reads: ReadFixture) => Promise<void>): Promise<void> =>
  withReads(
    database,
    (b) => {
      b.metric('m');
      b.streaks(SETTINGS);
    },
    async (reads) => {
      for (const day of days) {
        reads.at(`${day}T12:00:00Z`);
        await reads.laurel.event('m', 'u', 1);
      }
      await reads.persist();
      await run(reads);
    },
  );

const read = async ({ pool, compiled, laurel }: ReadFixture, firstDay: string) =>
  (await readStreakFacts(pool, compiled, {
    userId: 'u',
    nowMs: laurel.clock.now(),
    firstDay: dayOf(firstDay),
  }))!;

test('replaying what is recorded comes to what is, from whichever day on', () =>
  withHistory(
    ['2026-03-02', '2026-03-03', '2026-03-06', '2026-03-07', '2026-03-16', '2026-03-18', '2026-03-19'],
    async (reads) => {
      reads.at('2026-03-20T10:00:00Z');
      for (const day of ['2026-03-01', '2026-03-05', '2026-03-08', '2026-03-17', '2026-03-20']) {
        const { facts } = await read(reads, day);
        const replay = replayStreaks(facts, {});
        expect(replay).toMatchObject({ exact: true, freezes: facts.now.freezes, superseded: [], settlements: [] });
        for (const frequency of ['daily', 'weekly', 'monthly'] as const)
          expect(replay.streaks[frequency]).toEqual(facts.now.streaks[frequency]);
      }
    },
  ));

test('an event in a gap joins the streaks beside it, and gives back what the gap took', () =>
  withHistory(['2026-03-02', '2026-03-03', '2026-03-05'], async (reads) => {
    reads.at('2026-03-06T10:00:00Z');
    const { facts } = await read(reads, '2026-03-04');
    expect(facts.now.streaks.daily.length).toBe(3);
    const day = dayOf('2026-03-04');
    const [metric] = reads.laurel.catalog.metrics;
    const late = { id: 'late', atMs: day * 86_400_000, day, metricNo: metric!.no, value: 1_000_000n };
    const { streaks, freezes, superseded } = replayStreaks(facts, { add: [late] });
    expect(streaks.daily).toMatchObject({ length: 4, startDay: dayOf('2026-03-02'), lastPeriod: dayOf('2026-03-05') });
    expect([facts.now.freezes, freezes, superseded.length]).toEqual([1, 2, 1]);
  }));
