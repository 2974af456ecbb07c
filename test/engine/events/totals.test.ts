import { afterAll, beforeAll, expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

let laurel: TestEngine;

const stack = opened(() => testStack({ database: 'none' }));
beforeAll(async () => {
  const builder = new CatalogBuilder();
  builder.metric('flips');
  laurel = new TestEngine(stack.redisUrl, builder.catalog);
});
afterAll(async () => {
  await laurel.close();
});

test.each([
  ['decimals', [0.1, 0.2], 0.3],
  ['a large total that shrinks again', [1e12, 0.1, -1e12], 0.1],
  ['many places', [0.000001, 0.000001, 999999.999998], 1000000],
  ['more than six places, rounded to nearest', [0.1234567], 0.123457],
  ['less than the smallest unit', [0.0000004], 0],
  ['through zero', [0.5, -1.25], -0.75],
  ['from below', [-0.75, 1], 0.25],
  ['fifteen digits', [123456789.123456, 0.000001], 123456789.123457],
  ['zero', [0, -0], 0],
  ['the bounds', [1e12, 1e12, -1e12, -1e12, -1e12], -1e12],
])('totals are exact: %s', async (name, values, total) => {
  let answer;
  for (const value of values) answer = await laurel.event('flips', `total ${name}`, value);
  expect(answer!.total).toBe(total);
  expect(Object.is(answer!.total, -0)).toBe(false);
});

test.each(['__proto__', 'constructor', 'ünï-✓-用户', 'a'.repeat(255), ' ', 'x:y{z}', '%00'])(
  'user ID %s',
  async (id) => {
    expect((await laurel.event('flips', id, 1)).total).toBe(1);
    expect((await laurel.event('flips', id, 1)).total).toBe(2);
  },
);
