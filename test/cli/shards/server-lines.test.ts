import { expect, test } from 'vitest';
import { serverLines } from '../../../src/cli/shards/server-lines.ts';
import type { PlacedShard } from '../../../src/postgres/shards/placement.ts';
import { SHARD_NUMBERS } from '../../../src/redis/keys.ts';

const placedShard = (shard: number, more: Partial<PlacedShard> = {}): PlacedShard => ({
  shard,
  endpoint: 'east',
  movingTo: null,
  leftOn: null,
  chosen: false,
  ...more,
});

const placement = (...shards: PlacedShard[]): Map<number, PlacedShard> =>
  new Map(shards.map((each) => [each.shard, each]));

test('remarks are made once for all shards that they are about', () => {
  const placed = placement(placedShard(1, { movingTo: 'west' }), placedShard(2), placedShard(3, { leftOn: 'west' }));
  const server = { name: 'east', shards: [1, 2, 3, 4], whole: new Set([2, 3]) };
  expect(serverLines(server, { placed, used: new Set([3, 9]) })).toBe(
    'east: 4 shards\n  numbers: 1 to 4\n  with tenants: 3\n  being moved to west: 1\n' +
      '  keys are left on west: 3\n  shut: 1, 4\n',
  );
});

test('one that does not answer says so, and nothing about which of its shards are open', () => {
  const server = { name: 'east', shards: [7], whole: null };
  expect(serverLines(server, { placed: placement(placedShard(7)), used: new Set() })).toBe(
    'east: 1 shard (does not answer)\n  numbers: 7\n  with tenants: none\n',
  );
});

test('no line is longer than 80 columns, however the shards are spread', () => {
  const shards = SHARD_NUMBERS.filter((shard) => shard % 3 === 0 || shard % 7 === 1);
  const lines = serverLines(
    { name: 'east', shards, whole: new Set() },
    { placed: new Map(), used: new Set(shards) },
  ).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(lines.length).toBeGreaterThan(8);
});
