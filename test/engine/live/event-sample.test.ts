import { expect, test } from 'vitest';
import { compileCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { EventSample, SAMPLED_A_SECOND } from '../../../src/engine/live/tenant-listeners.ts';
import type { LiveGrant } from '../../../src/engine/live/stream-grants.ts';
import { KIND, RECORD } from '../../../src/packed/record-fields.ts';
import { CatalogBuilder } from '../catalog-builder.ts';

const builder = new CatalogBuilder(4);
const cards = builder.metric('cards');
const minutes = builder.metric('minutes');
const compiled = compileCatalog(builder.catalog);
const GRANT: LiveGrant = {
  tenantNo: 4,
  prefix: '',
  rateLimit: null,
  kind: 'admin',
  userId: null,
  boardIds: [],
  types: null,
  metricIds: null,
  leaderboardIds: null,
  pointsSystemIds: null,
};
const event = (userId: string, metric = cards) => ({
  [RECORD.kind]: KIND.event,
  [RECORD.id]: '0195a5f27c3e7b1a9d3e2f6b8c1d0000',
  [RECORD.userId]: userId,
  [RECORD.atMs]: 0,
  [RECORD.day]: 0,
  [RECORD.metric]: metric.no,
});

test('shows twenty events a second, each with the number left out since the previous one', () => {
  let nowMs = 0;
  const sample = new EventSample(GRANT, () => nowMs);
  const skipped = (count: number): number[] =>
    Array.from({ length: count }, () => sample.take(compiled, event('ada'))).flatMap((one) =>
      one === null ? [] : (JSON.parse(one.payload) as { skipped: number }).skipped,
    );
  expect(skipped(500)).toEqual(Array.from({ length: SAMPLED_A_SECOND }, () => 0));
  nowMs = 100;
  expect(skipped(100)).toEqual([480, 0]);
  nowMs = 60_000;
  const [first, ...others] = skipped(500);
  expect([first, others.length]).toEqual([98, SAMPLED_A_SECOND - 1]);
});

test('events of other users and metrics than those asked for are neither shown nor counted', () => {
  const sample = new EventSample({ ...GRANT, userId: 'ada', metricIds: [minutes.id] }, () => 0);
  const shown = [event('bob', minutes), event('ada'), event('ada', minutes)].map((one) => sample.take(compiled, one));
  expect(shown.map((one) => one !== null)).toEqual([false, false, true]);
  expect(JSON.parse(shown[2]!.payload)).toMatchObject({ event: { userId: 'ada', metricKey: 'minutes' }, skipped: 0 });
});
