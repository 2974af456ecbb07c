import { expect, test } from 'vitest';
import { numberRanges } from '../src/number-ranges.ts';
import { SHARD_NUMBERS } from '../src/redis/keys.ts';

const every = (step: number, first: number): number[] => SHARD_NUMBERS.filter((shard) => shard % step === first);

test.each<[readonly number[], string]>([
  [[], ''],
  [[7], '7'],
  [[7, 8], '7, 8'],
  [[2, 3, 4], '2 to 4'],
  [[0, 2, 4], '0, 2, 4'],
  [[0, 2, 3, 4, 5, 7, 8], '0, 2 to 5, 7, 8'],
  [SHARD_NUMBERS, '0 to 255'],
  [every(2, 1), '1 to 255 in steps of 2'],
  [every(3, 0), '0 to 255 in steps of 3'],
  [[0, ...every(2, 1)], '0, 1 to 255 in steps of 2'],
  [[0, 2, ...every(2, 0).slice(3)], '0, 2, 6 to 254 in steps of 2'],
  [[...every(2, 0).slice(0, 5), 9, 100, 250, 251], '0 to 8 in steps of 2, 9, 100, 250, 251'],
])('%j', (numbers, text) => {
  expect(numberRanges(numbers)).toBe(text);
});

test('a text names exactly the given numbers', () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let round = 0; round < 200; round += 1) {
    const share = random();
    const numbers = SHARD_NUMBERS.filter(() => random() < share);
    expect(readBack(numberRanges(numbers))).toEqual(numbers);
  }
});

function readBack(text: string): number[] {
  if (text === '') return [];
  return text.split(', ').flatMap((part) => {
    const [, first, last, step = '1'] = /^(\d+)(?: to (\d+))?(?: in steps of (\d+))?$/.exec(part)!;
    return SHARD_NUMBERS.filter(
      (n) => n >= Number(first) && n <= Number(last ?? first) && (n - Number(first)) % Number(step) === 0,
    );
  });
}
