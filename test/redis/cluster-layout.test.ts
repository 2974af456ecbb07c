import { expect, test } from 'vitest';
import { masterOf, parseLayout, slotOfShard, slotOfTag } from '../../src/redis/cluster-layout.ts';

const asked = { host: '10.0.0.9', port: 7000 };

interface NodeFields {
  id?: string;
  endpoint?: string | null;
  hostname?: string;
  port: number;
  'tls-port'?: number;
  role?: string;
  health?: string;
}

const group = (slots: number[], ...nodes: NodeFields[]): unknown[] => [
  'slots',
  slots,
  'nodes',
  nodes.map((node) => Object.entries({ id: 'x', ip: '10.0.0.1', role: 'master', health: 'online', ...node }).flat()),
];

const range = (first: number, last: number, id: string): unknown[] => [first, last, ['10.0.0.1', 1, id, []]];

const layoutOf = (replies: { shards: unknown[]; slots: unknown[] }, isTls = false) => ({
  epoch: 1,
  isWell: true,
  ...parseLayout(replies, { asked, isTls }),
});

test('a slot is CRC16 of the tag, as the specification of clusters has it', () => {
  expect(slotOfTag('123456789')).toBe(0x31c3);
  expect(slotOfShard(0)).toBe(11_097);
});

test('each range belongs to its master, also if that has failed and CLUSTER SHARDS omits its slots (Redis 8)', () => {
  const layout = layoutOf({
    shards: [
      group(
        [0, 99, 200, 299],
        { id: 'A', endpoint: 'a', port: 1, role: 'replica' },
        { id: 'B', endpoint: 'b', port: 2 },
      ),
      group([], { id: 'C', endpoint: 'c', port: 3 }),
      group([100, 199], { id: 'D', endpoint: 'd', port: 4, health: 'fail' }, { id: 'E', endpoint: 'e', port: 5 }),
      group([], { id: 'F', endpoint: 'f', port: 6, health: 'fail' }),
    ],
    slots: [range(0, 99, 'B'), range(100, 199, 'E'), range(200, 299, 'B'), range(300, 399, 'F'), range(400, 499, 'G')],
  });
  expect([0, 99, 250, 100, 300].map((slot) => masterOf(layout, slot)?.host)).toEqual(['b', 'b', 'b', 'e', 'f']);
  // A node that joined between the two replies, and a slot that nobody serves.
  expect([400, 500].map((slot) => masterOf(layout, slot))).toEqual([undefined, undefined]);
  expect(layout.nodes.map(({ host }) => host)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});

test.each([
  ['an address', { endpoint: '10.0.0.5', port: 6379 }, false, { host: '10.0.0.5', port: 6379 }],
  [
    'a host name',
    { endpoint: 'redis.example', hostname: 'redis.example', port: 6379 },
    false,
    { host: 'redis.example', port: 6379 },
  ],
  ['a port for TLS', { endpoint: '10.0.0.5', port: 6379, 'tls-port': 6380 }, true, { host: '10.0.0.5', port: 6380 }],
  [
    'nothing, behind the address that was asked',
    { endpoint: null, port: 6379 },
    false,
    { host: '10.0.0.9', port: 6379 },
  ],
  ['an unknown host name', { endpoint: '?', port: 6379 }, false, { host: '10.0.0.9', port: 6379 }],
] as const)('a node announces %s', (_, node, isTls, address) => {
  const replies = { shards: [group([0, 16_383], node)], slots: [range(0, 16_383, 'x')] };
  expect(masterOf(layoutOf(replies, isTls), 7)).toMatchObject(address);
});
