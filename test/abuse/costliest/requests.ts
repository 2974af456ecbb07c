import type { Configuration } from '../../../src/domain/configuration.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { largest, type Known } from './largest.ts';
import type { Schema } from './schema.ts';

/** A request that costs about as much as its operation allows. */
export interface CostlyRequest {
  name: string;
  surface: Operation['surface'];
  method: string;
  path: string;
  body: string | null;
  /** Whether it needs another `Idempotency-Key` each time. */
  isKeyed?: boolean;
}

/** Bytes of the request line that a query may use, in addition to the headers. */
const QUERY_BYTES = 12_000;
const BODY_LIMIT = 4_194_304;

export const USER = 'costly';
const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => `attribute-${at}`);

/**
 * The configuration that the requests meet: leaderboards, points systems and achievements on one metric, as many as a busy
 * tenant has.
 */
export const CONFIGURATION: Configuration = {
  attributes: keys(100).flatMap((key) => [
    { key, name: key, type: 'user' as const },
    { key, name: key, type: 'event' as const },
  ]),
  metrics: Array.from({ length: 50 }, (_, at) => ({ key: at === 0 ? 'flips' : `metric-${at}`, name: `Metric ${at}` })),
  achievements: Array.from({ length: 100 }, (_, at) => ({
    key: `achievement-${at}`,
    name: `Achievement ${at}`,
    trigger: 'metric' as const,
    metricKey: 'flips',
    metricValue: 1 + at,
    status: 'active' as const,
  })),
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      levels: Array.from({ length: 50 }, (_, at) => ({ key: `level-${at}`, name: `Level ${at}`, points: at * 10 })),
      triggers: [{ type: 'metric', metricKey: 'flips', metricThreshold: 1, points: 1, status: 'active' }],
    },
  ],
  leaderboards: Array.from({ length: 50 }, (_, at) => ({
    key: at === 0 ? 'board' : `board-${at}`,
    name: `Board ${at}`,
    rankBy: 'metric' as const,
    metricKey: 'flips',
    start: '2026-01-01',
    status: 'active' as const,
  })),
  streaks: { personalization: true },
};

/** Existing values for path and body fields; `id` and `userId` name the user. */
const KNOWN: Known = {
  userId: USER,
  tz: 'Europe/Berlin',
  email: 'costly@example.com',
  'keys of attributes': keys(100),
  startDate: '2017-01-01',
  endDate: '2026-12-31',
  run: '2026-01-01',
  year: 2026,
  aggregation: 'daily',
  // Another number closes the tenant until it is spread over that many.
  shards: 1,
  // A strict call ends when an item is refused.
  strict: false,
};

const PATH_VALUES = (path: string): Record<string, string> => ({
  key: path.includes('achievements')
    ? 'achievement-0'
    : path.includes('leaderboards')
      ? 'board'
      : path.includes('points')
        ? 'xp'
        : 'flips',
  id: USER,
});

/** The largest request of an operation according to its schemas. `given`: values of parameters and fields by name. */
export function largestRequest(operation: Operation, given: Known = {}): CostlyRequest {
  const { id, surface, method, body, query } = operation;
  const values: Known = { ...PATH_VALUES(operation.path), ...given };
  const ids = /^\/v1\/(users|metrics\/\{key\}|achievements\/\{key\})/.test(operation.path) || surface === 'application';
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    textOf(ids ? (values[name] ?? USER) : (given[name] ?? KNOWN[name] ?? '0191d6f0-0000-7000-8000-000000000001')),
  );
  const search = query === null ? '' : `?${queryOf(plain(query), given)}`;
  const known = { ...KNOWN, ...(surface === 'application' && { id: USER }), key: 'flips', ...given };
  const text =
    body === null
      ? null
      : JSON.stringify(largest(plain(body), { bytes: (operation.bodyBytes ?? BODY_LIMIT) * 0.95, known }));
  return { name: id, surface, method: method.toUpperCase(), path: path + search, body: text };
}

/** A scalar as in a path or query. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** With the items that bulk operations validate one by one. */
const plain = (schema: object): Schema => JSON.parse(JSON.stringify(schema)) as Schema;

function queryOf(schema: Schema, given: Known): string {
  const names = Object.keys(schema.properties ?? {});
  const parameters = new URLSearchParams();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    // Attributes of other leaderboards and users are refused, so requests that need them omit them.
    if (name === 'userAttributes' || name === 'offset') continue;
    const bytes = QUERY_BYTES / names.length;
    const value = largest(
      { maxLength: 255, ...property },
      { bytes, known: { ...KNOWN, limit: 100, numEvents: 100, ...given }, name },
    );
    if (value === undefined) continue;
    for (const one of [value].flat()) parameters.append(name, textOf(one));
  }
  return parameters.toString();
}

/** Requests of operations that keep what other requests need, and that need nothing that may be missing. */
export const largestRequests = (operations: readonly Operation[]): CostlyRequest[] =>
  operations
    .filter(({ id, onlyWith }) => onlyWith === null && !/delete|rotate|tenants|organisation|configuration_put/.test(id))
    .map((operation) => largestRequest(operation));
