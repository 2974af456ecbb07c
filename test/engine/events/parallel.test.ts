import { afterAll, beforeAll, expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

let laurel: TestEngine;

const stack = opened(() => testStack({ database: 'none' }));
beforeAll(async () => {
  const builder = new CatalogBuilder();
  const flips = builder.metric('flips');
  for (const metricValue of [100, 500, 900]) builder.achievement('metric', { metricId: flips.id, metricValue });
  const xp = builder.system('xp');
  builder.trigger(xp, 'metric', { points: 7, metricId: flips.id, metricThreshold: 10 });
  builder.leaderboard('all', 'metric', { metricId: flips.id });
  laurel = new TestEngine(stack.redisUrl, builder.catalog);
});
afterAll(async () => {
  await laurel.close();
});

test('applies hundreds of parallel events of one user exactly once each, in one order', async () => {
  const answers = await Promise.all(Array.from({ length: 600 }, () => laurel.event('flips', 'hot', 2)));
  const totals = answers.map(({ total }) => total).sort((a, b) => a - b);
  expect(totals).toEqual(Array.from({ length: 600 }, (_, index) => (index + 1) * 2));
  expect(answers.flatMap(({ achievements }) => achievements)).toHaveLength(3);
  const awards = answers.flatMap(({ points }) => points['xp']?.awards ?? []);
  expect(awards).toHaveLength(120);
  expect(new Set(awards.map(({ id }) => id)).size).toBe(120);
  const pointTotals = awards.map(({ total }) => total!).sort((a, b) => a - b);
  expect(pointTotals).toEqual(Array.from({ length: 120 }, (_, index) => (index + 1) * 7));
  const state = await laurel.users.state(0, 'hot');
  expect([...state.totals.values()]).toEqual([{ whole: 1200, micros: 0, peak: null }]);
  expect([...state.points.values()]).toEqual([840]);
});
