import { expect, test } from 'vitest';
import { createBatchIntake } from '../../../src/engine/events/batch-intake.ts';
import { createBatchProcessor } from '../../../src/engine/events/batch-processor.ts';
import type { BatchMetricEvent } from '../../../src/domain/event.ts';
import { testDatabase } from '../../postgres/database.ts';
import { withReads, type ReadFixture } from '../read-fixture.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

const withUsers = (run: (reads: ReadFixture) => Promise<void>): Promise<void> =>
  withReads(
    database,
    (b) => {
      b.metric('m');
    },
    async (reads) => {
      reads.at('2026-03-10T12:00:00Z');
      await run(reads);
    },
  );

/** Accepts and processes a batch while its entries are stored. Calls `meanwhile` at each step that is sent. */
async function take(reads: ReadFixture, events: BatchMetricEvent[], meanwhile?: () => Promise<void>) {
  const { redis, clock, ids, late } = reads.laurel;
  const catalogs = { of: () => reads.compiled, atLeast: async () => undefined };
  const { tenantNo } = reads.compiled.catalog;
  const intake = createBatchIntake({
    redis,
    catalogs,
    clock,
    ids,
    withAddress: async () => new Set(),
    onAccepted: () => undefined,
    overloaded: () => false,
  });
  const processor = createBatchProcessor({
    redis,
    catalogs,
    ids,
    lookUpKeys: () => Promise.reject(new Error('no key is old')),
    late,
    onWritten: () => undefined,
    onRefused: () => undefined,
    onMoment: async (moment) => {
      if (moment === 'sent') await meanwhile?.();
      else await reads.persist();
    },
  });
  let draining: Promise<void> | undefined;
  const results = await intake.accept(tenantNo, events, {
    wait: true,
    onQueued: () => void (draining = processor.drain(onlyPart(tenantNo).shard)),
  });
  await draining;
  return results!;
}

const event = (id: string, day: number | null): BatchMetricEvent => ({
  key: 'm',
  user: { id },
  value: 1,
  ...(day !== null && { occurredAt: `2026-03-${String(day).padStart(2, '0')}T10:00:00Z` }),
});

const lengthOf = async (reads: ReadFixture, id: string) => (await reads.streaks.ofUser(reads.compiled, id, 0)).length;

test('late events of a batch take their places, among others and in order per user', () =>
  withUsers(async (reads) => {
    const days = [8, null, 9, 7, 10, null];
    const results = await take(reads, [...days.map((day) => event('u', day)), event('v', null), event('v', 9)]);
    expect(results.map(({ status, total }) => [status, total])).toEqual([
      ...days.map((_, index) => [201, index + 1]),
      [201, 1],
      [201, 2],
    ]);
    expect([await lengthOf(reads, 'u'), await lengthOf(reads, 'v')]).toEqual([4, 2]);
  }));

test('a permanently busy user does not delay others for ever: the event counts, its streak is not repaired', () =>
  withUsers(async (reads) => {
    await reads.laurel.event('m', 'u', 1);
    await reads.persist();
    const { late } = reads.laurel;
    const { preparedInTurn } = late;
    // Between the replay and the step the user acts again, each time.
    late.preparedInTurn = async (...args) => {
      const ready = await preparedInTurn(...args);
      await reads.laurel.event('m', 'u', 1);
      await reads.persist();
      return ready;
    };
    const [first, second] = await take(reads, [event('u', 9), event('v', null)]);
    expect([first?.status, second?.status]).toEqual([201, 201]);
    expect(first!.total).toBeGreaterThan(8);
    expect(await lengthOf(reads, 'u')).toBe(1);
  }));

test('refuses a whole batch if one time is outside the window', () =>
  withUsers(async (reads) => {
    const early = { ...event('u', 9), occurredAt: '2025-03-09T10:00:00Z' };
    await expect(take(reads, [event('u', 9), early])).rejects.toMatchObject({
      status: 422,
      message: '[1]: occurredAt must not be more than 35 days ago.',
    });
  }));
