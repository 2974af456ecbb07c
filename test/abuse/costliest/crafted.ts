import type { CostlyRequest } from './requests.ts';
import { USER } from './requests.ts';

const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at));

const admin = (name: string, method: string, path: string, body: unknown): CostlyRequest => ({
  name,
  surface: 'admin',
  method,
  path,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

const attributes = (most: number): object => ({
  attributes: list(most, (at) => ({ key: `key-${at}`, name: `Name ${at}`, type: at % 2 === 0 ? 'user' : 'event' })),
});

/** Composites that depend on each other, each with conditions. */
const composites = (most: number): object => ({
  achievements: list(most, (at) => ({
    key: `a${at}`,
    name: `A ${at}`,
    ...(at === 0 ? { trigger: 'api' } : { trigger: 'achievement', achievementKeys: [`a${at - 1}`] }),
  })),
});

const levels = (most: number): object => ({
  pointsSystems: [
    { key: 'big', name: 'Big', levels: list(most, (at) => ({ key: `l${at}`, name: `L ${at}`, points: at })) },
  ],
});

/**
 * Costly requests that do not follow from the schemas: the longest documents, of every shape that was once slow; bodies in
 * which every field is wrong; batches with large answers. They do not change what other requests need, or come last.
 */
export const craftedRequests = (resources: number): CostlyRequest[] => [
  admin(`diff of ${resources} attributes`, 'POST', '/v1/configuration/diff', attributes(resources)),
  admin(`diff of ${resources} composites`, 'POST', '/v1/configuration/diff', composites(resources)),
  admin(`diff of ${resources} levels`, 'POST', '/v1/configuration/diff', levels(resources)),
  admin('diff of unknown references', 'POST', '/v1/configuration/diff', {
    achievements: list(resources, (at) => ({ key: `a${at}`, name: 'A', trigger: 'metric', metricKey: `no-${at}` })),
  }),
  admin('unknown fields', 'POST', '/v1/configuration/diff', `{${list(300_000, (at) => `"f${at}":0`).join()}}`),
  admin('nested arrays', 'POST', '/v1/configuration/diff', '['.repeat(4_000_000)),
  admin('a million arrays', 'POST', '/v1/configuration/diff', `{"metrics":[${list(1_000_000, () => '[]').join()}]}`),
  admin('a points system with thousands of levels', 'POST', '/v1/points', [
    { key: 'many', name: 'Many', levels: list(9_000, (at) => ({ key: `l${at}`, name: `L ${at}`, points: at })) },
  ]),
  admin(
    'a batch with answers',
    'POST',
    '/v1/metrics/events?wait=true',
    list(1_000, (at) => ({ key: 'flips', user: { id: `u${at}` }, value: 1_000 })),
  ),
  admin('a batch with unknown attributes', 'POST', '/v1/metrics/events', [
    { key: 'flips', user: { id: USER }, value: 1, attributes: Object.fromEntries(list(9_000, (at) => [`f${at}`, ''])) },
  ]),
  {
    name: 'an event with unknown attributes',
    surface: 'application',
    method: 'POST',
    path: '/v1/metrics/flips/event',
    body: JSON.stringify({
      user: { id: USER },
      value: 1,
      attributes: Object.fromEntries(list(4_500, (at) => [`f${at}`, ''])),
    }),
  },
  admin(`a document of ${resources} resources`, 'PUT', '/v1/configuration', {
    ...attributes(resources),
    metrics: [{ key: 'flips', name: 'Flips' }],
    achievements: [],
    pointsSystems: [],
    leaderboards: [],
    streaks: { metrics: [] },
  }),
  admin('the whole document', 'GET', '/v1/configuration', ''),
];
