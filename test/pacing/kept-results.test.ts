import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KeptResults } from '../../src/pacing/kept-results.ts';

/** Makes results that take a while, and counts them. */
function counted(tookMs: number): { make: () => Promise<number>; made: () => number } {
  let made = 0;
  const make = async (): Promise<number> => {
    made += 1;
    await sleep(tookMs);
    return made;
  };
  return { make, made: () => made };
}

test('a result is made once for all who ask meanwhile, and for those who ask soon afterwards', async () => {
  const { make, made } = counted(200);
  const results = new KeptResults<number>();
  const asked = Array.from({ length: 10 }, () => results.of('board', make));
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, () => 1));
  expect(await results.of('board', make)).toBe(1);
  expect(made()).toBe(1);
});

test('a quick one is kept for a time, and then made again', async () => {
  const { make } = counted(0);
  const results = new KeptResults<number>({ leastMs: () => 50 });
  expect(await results.of('board', make)).toBe(1);
  await expect.poll(() => results.of('board', make)).toBeGreaterThan(1);
});

test('a larger one may be kept for longer', async () => {
  const results = new KeptResults<string>({ leastMs: ({ length }) => (length > 5 ? 60_000 : 0) });
  await results.of('small', async () => 'small');
  await results.of('large', async () => 'larger');
  const again = (name: string): Promise<string> => results.of(name, async () => 'again');
  await expect.poll(() => again('small')).toBe('again');
  expect(await again('large')).toBe('larger');
});

test('each name has its own', async () => {
  const results = new KeptResults<string>({ leastMs: () => 60_000 });
  expect(await results.of('a', async () => 'a')).toBe('a');
  expect(await results.of('b', async () => 'b')).toBe('b');
});

test('a failed one is not kept', async () => {
  const results = new KeptResults<string>({ leastMs: () => 60_000 });
  const failing = async (): Promise<string> => {
    throw new Error('away');
  };
  await expect(results.of('board', failing)).rejects.toThrow('away');
  expect(await results.of('board', async () => 'made')).toBe('made');
});

test('the oldest leave when all together are too large', async () => {
  const results = new KeptResults<string>({ leastMs: () => 60_000, mostWeight: 10, weightOf: ({ length }) => length });
  for (const name of ['a', 'b', 'c']) await results.of(name, async () => 'large');
  const again = (name: string): Promise<string> => results.of(name, async () => 'again');
  expect(await again('c')).toBe('large');
  expect(await again('b')).toBe('large');
  expect(await again('a')).toBe('again');
});
