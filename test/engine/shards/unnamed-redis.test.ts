import { expect, test } from 'vitest';
import { unnamedRedisTexts } from '../../../src/engine/availability/independent-servers.ts';

test('a sentence for each Redis names its shards', () => {
  const elsewhere = new Map([
    [7, 'north'],
    [5, 'south'],
    [3, 'north'],
    [4, 'north'],
  ]);
  expect([...unnamedRedisTexts(elsewhere)]).toEqual([
    [
      'north',
      'Shards 3, 4, 7 are on the Redis "north", which REDIS_URL does not name here: this process answers their tenants 503 until it is started with it',
    ],
    [
      'south',
      'Shard 5 is on the Redis "south", which REDIS_URL does not name here: this process answers its tenants 503 until it is started with it',
    ],
  ]);
  expect(unnamedRedisTexts(new Map()).size).toBe(0);
});
