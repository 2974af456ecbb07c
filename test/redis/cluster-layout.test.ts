import { expect, test } from 'vitest';
import { masterOf, parseShards, slotOfShard, slotOfTag } from '../../src/redis/cluster.ts';

const asked = { host: '10.0.0.9', port: 7000 };

const group = (slots: number[], ...nodes: Record<string, string | number | null>[]): unknown[] => [
  'slots',
  slots,
  'nodes',
  nodes.map((node) => Object.entries({ id: 'x', ip: '10.0.0.1', role: 'master', health: 'online', ...node }).flat()),
];

const layoutOf = (groups: unknown[], isTls = false) => ({
  epoch: 1,
  isWell: true,
  ...parseShards(groups, { asked, isTls }),
});

test('a slot is CRC16 of the tag, as the specification of clusters has it', () => {
  expect(slotOfTag('123456789')).toBe(0x31c3);
  expect(slotOfShard(0)).toBe(11_097);
});

test('each range belongs to the master of its group: not to a replica, and to a failed one only if no other took over', () => {
  const layout = layoutOf([
    group([0, 99, 200, 299], { endpoint: 'a', port: 1, role: 'replica' }, { endpoint: 'b', port: 2 }),
    group([], { endpoint: 'c', port: 3 }),
    group([100, 199], { endpoint: 'd', port: 4, health: 'fail' }, { endpoint: 'e', port: 5 }),
    group([300, 399], { endpoint: 'f', port: 6, health: 'fail' }, { endpoint: 'g', port: 7, role: 'replica' }),
  ]);
  expect([0, 99, 250].map((slot) => masterOf(layout, slot))).toMatchObject(
    Array.from({ length: 3 }, () => ({ host: 'b', port: 2 })),
  );
  expect(masterOf(layout, 100)).toMatchObject({ host: 'e' });
  expect(masterOf(layout, 300)).toMatchObject({ host: 'f' });
  expect(masterOf(layout, 400)).toBeUndefined();
  expect(layout.nodes.map(({ host }) => host)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
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
  expect(masterOf(layoutOf([group([0, 16_383], node)], isTls), 7)).toMatchObject(address);
});
