import { expect, test } from 'vitest';
import { compileCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { earnedOn } from '../../../src/engine/live/tenant-entries.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { KIND, RECORD, SETTLED } from '../../../src/packed/record-fields.ts';
import { FREQUENCY } from '../../../src/packed/user-fields.ts';
import { CatalogBuilder } from '../catalog-builder.ts';

const builder = new CatalogBuilder(4);
const cards = builder.metric('cards');
const xp = builder.system('xp');
const coins = builder.system('coins');
const boards = {
  metric: builder.leaderboard('metric', 'metric', { metricId: cards.id }),
  points: builder.leaderboard('points', 'points', { pointsSystemId: xp.id }),
  streak: builder.leaderboard('streak', 'streak', {}),
};
const compiled = compileCatalog(builder.catalog);
const streak = (length: number, extended: 0 | 1) => ({
  [RECORD.streak]: [length, 20_000, 20_000, extended, 0] as const,
});
const points = { [RECORD.points]: [[coins.no, 0, 9, []] as const, [xp.no, 50, 30, []] as const] };
const lost = { [RECORD.settlements]: [[FREQUENCY.daily, SETTLED.lost, 19_990, 19_996, 7] as const] };

test.each<{ name: string; on: keyof typeof boards; record: object; earned: bigint | null }>([
  { name: 'a value', on: 'metric', record: { [RECORD.value]: [-2, -500_000] }, earned: -2_500_000n },
  {
    name: 'a reversal',
    on: 'metric',
    record: { [RECORD.kind]: KIND.reversal, [RECORD.value]: [3, 0] },
    earned: 3_000_000n,
  },
  { name: "points of the leaderboard's system", on: 'points', record: points, earned: -20_000_000n },
  { name: 'points of another system alone', on: 'points', record: {}, earned: null },
  { name: 'points of a new user', on: 'points', record: { ...points, [RECORD.kind]: KIND.user }, earned: -20_000_000n },
  { name: 'a longer streak', on: 'streak', record: streak(8, 1), earned: 1_000_000n },
  {
    name: 'a streak that the clock ended',
    on: 'streak',
    record: { [RECORD.kind]: KIND.streaks, ...lost },
    earned: -7_000_000n,
  },
  {
    name: 'one that an event finds lost, and begins again',
    on: 'streak',
    record: { ...lost, ...streak(1, 1) },
    earned: -6_000_000n,
  },
  {
    name: 'a late event, of which that is not known',
    on: 'streak',
    record: { ...streak(8, 1), [RECORD.occurredDay]: 1 },
    earned: null,
  },
  { name: 'a user who is hidden', on: 'streak', record: { [RECORD.kind]: KIND.user }, earned: 0n },
])('what a record added to a score: $name', ({ on, record, earned }) => {
  const whole = { [RECORD.kind]: KIND.event, ...record } as HappenedRecord;
  expect(earnedOn(compiled, boards[on], whole)).toBe(earned);
});
