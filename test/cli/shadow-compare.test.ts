import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { bodyValue, requestFacts } from '../../src/cli/shadow-exchange.ts';
import { differencesOf, OWN_FIELDS } from '../../src/cli/shadow-differences.ts';
import { applicationOperations } from '../../src/operations/index.ts';

const paths = (
  source: unknown,
  laurel: unknown,
  options: { withShared?: boolean; key?: boolean; ignored?: string[] } = {},
) =>
  differencesOf(
    { status: 200, body: source },
    { status: 200, body: laurel },
    {
      withShared: options.withShared ?? true,
      hasIdempotencyKey: options.key ?? false,
      ignored: options.ignored ?? [],
    },
  ).map(({ path }) => path);

describe('no difference', () => {
  test.each<[string, unknown, unknown]>([
    [
      'IDs that a server makes',
      { id: 1, eventId: 'a', achievementIds: ['x'] },
      { id: 2, eventId: 'b', achievementIds: [] },
    ],
    ['times of the same day', { at: '2026-11-25T23:59:59.9Z' }, { at: '2026-11-26T00:00:00+00:00' }],
    ['null and nothing', { a: null, list: [{ name: 'x', b: null }] }, { list: [{ name: 'x' }] }],
    [
      'the order of items with a name',
      [
        { key: 'a', n: 1 },
        { key: 'b', n: 2 },
      ],
      [
        { key: 'b', n: 2 },
        { key: 'a', n: 1 },
      ],
    ],
    ['the last digits of a sum', { total: 0.1 + 0.2 }, { total: 0.3 }],
    ['what only Laurel has', { total: 1 }, { total: 1, guarded: true, guard: 'g', action: 'a' }],
    ['an idempotency key of the proxy', {}, { idempotencyKey: 'shadow-1', idempotentReplayed: false }],
  ])('%s', (_, source, laurel) => expect(paths(source, laurel)).toEqual([]));

  test('in the text of an error', () => {
    const answers = [{ error: 'No such metric' }, { error: 'Metric not found' }].map((body) => ({ status: 404, body }));
    expect(differencesOf(answers[0]!, answers[1]!, { withShared: true, hasIdempotencyKey: true, ignored: [] })).toEqual(
      [],
    );
  });
});

describe('a difference', () => {
  test.each<[unknown, unknown, string[]]>([
    [{ total: 1 }, { total: 2 }, ['total']],
    [{ userId: 'a' }, { userId: 'b' }, ['userId']],
    [{ user: { id: 'a' } }, { user: { id: 'b' } }, ['user.id']],
    [{ started: '2026-11-25' }, { started: '2026-11-26' }, ['started']],
    [{ achievedAt: '2026-11-25T10:00:00Z' }, { achievedAt: null }, ['achievedAt']],
    [{ achievedAt: '2026-11-25T10:00:00Z' }, { achievedAt: '2026-11-23T10:00:00Z' }, ['achievedAt']],
    [{ total: 1 }, { total: '1' }, ['total']],
    [{ total: 100_000_000_000 }, { total: 100_000_000_001 }, []],
    [{ total: 10_000_000 }, { total: 10_000_001 }, ['total']],
    [{ points: { xp: { total: 1 } } }, { points: { xp: { total: 2 } } }, ['points.xp.total']],
    // A points system may have the name of a field.
    [{ points: { rank: { total: 1 }, id: 1 } }, { points: { rank: { total: 2 } } }, ['points.rank.total', 'points.id']],
    [{ attributes: { id: 'a', guard: 'b' } }, { attributes: {} }, ['attributes.id', 'attributes.guard']],
    [[{ userId: 'a', rank: 1 }], [{ userId: 'a', rank: 2 }], ['[].rank']],
    [[{ userId: 'a' }], [{ userId: 'b' }], ['[]', '[]']],
    [[{ n: 1 }, { n: 2 }], [{ n: 1 }], ['[]']],
    [[], {}, ['']],
    [{ __proto__: null, constructor: 1 }, {}, ['constructor']],
  ])('%j and %j: %j', (source, laurel, expected) => expect(paths(source, laurel)).toEqual(expected));

  test('ignores fields of other users only if others wrote meanwhile, and of an idempotency key only if the client sent none', () => {
    const [source, laurel] = [
      { rank: 1, value: 2, idempotencyKey: 'a' },
      { rank: 2, value: 3, idempotencyKey: 'b' },
    ];
    expect(paths(source, laurel, { withShared: false })).toEqual(['value']);
    expect(paths(source, laurel, { key: true })).toEqual(['rank', 'value', 'idempotencyKey']);
  });

  test('ignores the configured fields, by name or by the end of a path', () => {
    const [source, laurel] = [
      { a: { name: 1, b: { name: 1 } }, names: 1 },
      { a: { name: 2, b: { name: 2 } }, names: 2 },
    ];
    expect(paths(source, laurel, { ignored: ['name'] })).toEqual(['names']);
    expect(paths(source, laurel, { ignored: ['b.name'] })).toEqual(['a.name', 'names']);
  });
});

test('recognises the fields that Laurel has beyond the contract; docs/moving.md lists them', () => {
  const contract = ['application', 'newer']
    .map((name) => readFileSync(new URL(`../contract/${name}.json`, import.meta.url), 'utf8'))
    .join('\n');
  // Another server has only the operations of the contract.
  const unnamed = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');
  const paths = new Set([...contract.matchAll(/"(\/[^"]*)": \{/g)].map(([, path]) => unnamed(`/v1${path}`)));
  const names = new Set<string>();
  const collect = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { properties } = schema as { properties?: unknown };
    if (typeof properties === 'object' && properties !== null)
      for (const name of Object.keys(properties)) names.add(name);
    for (const part of Object.values(schema)) collect(part);
  };
  const compared = applicationOperations.filter(({ path }) => paths.has(unnamed(path)));
  expect(compared.length).toBeGreaterThan(20);
  for (const { responses } of compared) collect(responses);
  const own = [...names].filter((name) => !contract.includes(`"${name}"`));
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter((name) => !OWN_FIELDS.includes(name))).toEqual([]);
  const text = readFileSync(new URL('../../docs/moving.md', import.meta.url), 'utf8');
  expect(OWN_FIELDS.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test.each<[string, string, string, ReturnType<typeof requestFacts>]>([
  [
    'GET',
    '/v1/users/a%2Fb/points/xp/event-summary?x=/y',
    '',
    { operation: 'GET /v1/users/{id}/points/{key}/event-summary', user: 'a/b', writes: false },
  ],
  [
    'POST',
    '/api/metrics/flips/event',
    '{"user":{"id":"ada"}}',
    { operation: 'POST /v1/metrics/{key}/event', user: 'ada', writes: true },
  ],
  ['POST', '/v1/users', '{"id":"ada"}', { operation: 'POST /v1/users', user: 'ada', writes: true }],
  [
    'POST',
    '/v1/metrics/flips/event',
    '{"user":null}',
    { operation: 'POST /v1/metrics/{key}/event', user: null, writes: true },
  ],
  ['POST', '/v1/metrics/flips/event', '{', { operation: 'POST /v1/metrics/{key}/event', user: null, writes: true }],
  ['GET', '/v1/users/%zz', '', { operation: 'GET /v1/users/{id}', user: '%zz', writes: false }],
  ['GET', '/v1/leaderboards/users', '', { operation: 'GET /v1/leaderboards/{key}', user: null, writes: false }],
  ['GET', '/v1/streaks?userIds=ada', '', { operation: 'GET /v1/streaks', user: null, writes: false }],
  ['OPTIONS', '/v1/users', '', null],
  ['GET', '/', '', null],
  ['GET', '/health', '', null],
])('%s %s %s', (method, path, body, expected) =>
  expect(requestFacts(method, path, Buffer.from(body))).toEqual(expected),
);

test('does not compare a body with an unknown encoding, or one too large when decompressed', async () => {
  const { gzipSync, brotliCompressSync, deflateSync } = await import('node:zlib');
  const text = '{"a":1}';
  for (const [encoding, body] of [
    ['gzip', gzipSync(text)],
    ['BR', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    [undefined, Buffer.from(text)],
  ] as const)
    expect(bodyValue(body, encoding)).toEqual({ a: 1 });
  expect(bodyValue(gzipSync(`"${'x'.repeat(3_000_000)}"`), 'gzip')).toBeUndefined();
  expect(bodyValue(Buffer.from(text), 'lzma')).toBeUndefined();
});
