import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TrophyApiClient } from '@trophyso/node';
import { TrophyApiClient as Client1021 } from 'trophy-1-0-21';
import { TrophyApiClient as Client1036 } from 'trophy-1-0-36';
import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { strictDecoder } from './strict-decoder.ts';
import { opened } from '../stack/opened.ts';

/**
 * Calls every method of the clients that are published for the contract, from the registry, on a running Laurel. The
 * JavaScript clients parse strictly. The Go client cannot be built here: the test sends its requests and decodes the answers
 * by its rules. docs/compatibility.md has the resulting table; `UPDATE_CLIENTS=1` writes it.
 */
const DOCUMENT = join(PACKAGE_ROOT, 'docs/compatibility.md');
const TABLE = /(?<=<!-- clients -->\n\n)[^]*?(?=\n<!-- \/clients -->)/;

/** Stands still, so that a run over midnight has one day. */
const clock = new FixedClock(Date.now());

let client: TrophyApiClient;
const laurel = opened(async () => {
  const streaks = { freezes: { enabled: true, max: 2 } };
  return startLaurel({ clock, configuration: { ...STUDY_APP, streaks }, workers: true });
});
beforeAll(async () => {
  client = new TrophyApiClient({ apiKey: laurel.adminKey, environment: environment() });
});

const environment = () => ({ api: `${laurel.appUrl}/v1`, admin: `${laurel.adminUrl}/v1` });

// oxlint-disable-next-line typescript/no-explicit-any -- three versions of one client, each with types of its own
type Client = any;
type Call = (client: Client, id: string) => Promise<unknown>;

const today = new Date(clock.now()).toISOString().slice(0, 10);
const RANGE = { aggregation: 'daily', startDate: today, endDate: today } as const;

/** A call of each method with its expected answer, ordered so that each finds what it needs. */
const CALLS: Record<string, { call: Call; holds?: unknown }> = {
  'metrics.event': {
    call: (c, id) =>
      c.metrics.event('flips', {
        user: { id, email: `${id}@example.org`, tz: 'Europe/London', attributes: { plan: 'pro' } },
        value: 10,
        attributes: { deck: 'verbs' },
      }),
    holds: { total: 10, currentStreak: { length: 1 } },
  },
  'users.create': {
    call: (c, id) => c.users.create({ id: `${id}-2`, name: 'Grace', tz: 'America/New_York' }),
    holds: { name: 'Grace', created: expect.any(Date) },
  },
  'users.identify': { call: (c, id) => c.users.identify(id, { name: 'Ada' }), holds: { name: 'Ada' } },
  'users.update': {
    call: (c, id) => c.users.update(id, { attributes: { plan: 'free' } }),
    holds: { attributes: { plan: 'free' } },
  },
  'users.get': { call: (c, id) => c.users.get(id), holds: { created: expect.any(Date) } },
  'users.updatePreferences': {
    call: (c, id) => c.users.updatePreferences(id, { notifications: { recap: ['email'] } }),
    holds: { notifications: { recap: ['email'] } },
  },
  'users.getPreferences': {
    call: (c, id) => c.users.getPreferences(id),
    holds: { notifications: { recap: ['email'] } },
  },
  'users.allMetrics': { call: (c, id) => c.users.allMetrics(id), holds: [{ current: 10 }, { current: 0 }] },
  'users.singleMetric': { call: (c, id) => c.users.singleMetric(id, 'flips'), holds: { current: 10 } },
  'users.metricEventSummary': {
    call: (c, id) => c.users.metricEventSummary(id, 'flips', RANGE),
    holds: [expect.anything()],
  },
  'users.pointsEventSummary': {
    call: (c, id) => c.users.pointsEventSummary(id, 'xp', RANGE),
    holds: [expect.anything()],
  },
  'users.achievements': {
    call: (c, id) => c.users.achievements(id, { includeIncomplete: 'true' }),
    holds: expect.arrayContaining([expect.objectContaining({ name: 'Ten flips' })]),
  },
  'users.streak': { call: (c, id) => c.users.streak(id, { historyPeriods: 3 }), holds: { length: 1 } },
  'users.points': { call: (c, id) => c.users.points(id, 'xp'), holds: { total: 150 } },
  'users.leaderboard': { call: (c, id) => c.users.leaderboard(id, 'flips'), holds: { value: 10 } },
  'users.wrapped': { call: (c, id) => c.users.wrapped(id), holds: { user: { name: 'Ada' } } },
  'achievements.all': {
    call: (c) => c.achievements.all(),
    holds: expect.arrayContaining([expect.objectContaining({ name: 'Took the tour' })]),
  },
  'achievements.complete': {
    call: (c, id) => c.achievements.complete('tour', { user: { id } }),
    holds: { achievement: { name: 'Took the tour' } },
  },
  'points.system': { call: (c) => c.points.system('xp'), holds: { name: 'XP' } },
  'points.summary': { call: (c) => c.points.summary('xp', { userAttributes: 'plan:free' }) },
  'streaks.list': {
    call: (c, id) => c.streaks.list({ userIds: [id, 'nobody'] }),
    holds: [expect.anything(), expect.anything()],
  },
  'streaks.rankings': { call: (c) => c.streaks.rankings({ limit: 5 }), holds: expect.any(Array) },
  'leaderboards.all': {
    call: (c) => c.leaderboards.all(),
    holds: [expect.anything(), expect.anything(), expect.anything()],
  },
  'leaderboards.get': {
    call: (c) => c.leaderboards.get('flips', { limit: 5 }),
    holds: { rankings: expect.arrayContaining([expect.objectContaining({ value: 10 })]) },
  },
  'admin.streaks.freezes.create': {
    call: (c, id) => c.admin.streaks.freezes.create({ freezes: [{ userId: id }] }),
    holds: { issues: [] },
  },
  'admin.streaks.restore': { call: (c, id) => c.admin.streaks.restore({ users: [{ id }] }) },
};

/** All methods of a client, such as `users.get`. */
function methodsOf(part: object, prefix = ''): string[] {
  const prototype = Object.getPrototypeOf(part) as object;
  return Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, property]) => {
    if (name === 'constructor' || name.startsWith('_')) return [];
    if (property.get !== undefined) return methodsOf(property.get.call(part) as object, `${prefix}${name}.`);
    return typeof property.value === 'function' ? [`${prefix}${name}`] : [];
  });
}

interface Row {
  name: string;
  version: string;
  called: number;
  failed: string[];
}

async function javascript(version: string, made: Client): Promise<Row> {
  const methods = methodsOf(made as object);
  // A method without a call would be untested.
  expect(methods.filter((method) => CALLS[method] === undefined)).toEqual([]);
  const failed: string[] = [];
  for (const [method, { call, holds }] of Object.entries(CALLS)) {
    if (!methods.includes(method)) continue;
    try {
      const answer = await call(made, `js-${version}`);
      if (holds !== undefined) expect(answer).toMatchObject(holds as object);
    } catch (error) {
      failed.push(method);
      process.stderr.write(`${version} ${method}: ${(error as Error).message.slice(0, 600)}\n`);
    }
  }
  return { name: 'JavaScript', version, called: methods.length, failed };
}

/** The requests of the Go client 1.21.1: those of this version of the contract, with its version and without a language. */
const GO_REQUESTS: [method: string, path: string, asked?: string, body?: object][] = [
  ['POST', '/metrics/{key}/event', '/metrics/flips/event', { user: { id: 'go', tz: 'Asia/Tokyo' }, value: 10.5 }],
  ['POST', '/users', '/users', { id: 'go-2', name: 'Rob' }],
  ['PUT', '/users/{id}', '/users/go', { name: 'Ken' }],
  ['PATCH', '/users/{id}', '/users/go', { attributes: { plan: 'pro' } }],
  ['GET', '/users/{id}', '/users/go'],
  ['PATCH', '/users/{id}/preferences', '/users/go/preferences', { notifications: { recap: ['push'] } }],
  ['GET', '/users/{id}/preferences', '/users/go/preferences'],
  ['GET', '/users/{id}/metrics', '/users/go/metrics'],
  ['GET', '/users/{id}/metrics/{key}', '/users/go/metrics/flips'],
  [
    'GET',
    '/users/{id}/metrics/{key}/event-summary',
    `/users/go/metrics/flips/event-summary?aggregation=daily&startDate=${today}&endDate=${today}`,
  ],
  ['GET', '/users/{id}/achievements', '/users/go/achievements?includeIncomplete=true'],
  ['GET', '/users/{id}/streak', '/users/go/streak?historyPeriods=3'],
  ['GET', '/streaks', '/streaks?userIds=go&userIds=go-2'],
  ['GET', '/users/{id}/points/{key}', '/users/go/points/xp?awards=5'],
  ['GET', '/users/{id}/points/{key}/boosts', '/users/go/points/xp/boosts'],
  [
    'GET',
    '/users/{id}/points/{key}/event-summary',
    `/users/go/points/xp/event-summary?aggregation=daily&startDate=${today}&endDate=${today}`,
  ],
  ['GET', '/users/{id}/leaderboards/{key}', '/users/go/leaderboards/flips'],
  ['GET', '/users/{id}/wrapped', '/users/go/wrapped'],
  ['GET', '/points/{key}/summary', '/points/xp/summary'],
  ['GET', '/points/{key}', '/points/xp'],
  ['GET', '/points/{key}/boosts', '/points/xp/boosts?includeFinished=true'],
  ['GET', '/points/{key}/levels', '/points/xp/levels'],
  ['GET', '/points/{key}/level-summary', '/points/xp/level-summary'],
  ['GET', '/achievements', '/achievements'],
  ['POST', '/achievements/{key}/complete', '/achievements/tour/complete', { user: { id: 'go' } }],
  ['GET', '/leaderboards', '/leaderboards'],
  ['GET', '/leaderboards/{key}', '/leaderboards/flips?limit=5'],
];

async function go(): Promise<Row> {
  const decode = strictDecoder('1.21.1');
  const { paths } = JSON.parse(readFileSync(new URL('../contract/application.json', import.meta.url), 'utf8')) as {
    paths: Record<string, object>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'parameters')
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(GO_REQUESTS.map(([method, path]) => `${method} ${path}`).toSorted()).toEqual(operations.toSorted());
  const failed: string[] = [];
  for (const [method, path, asked, body] of GO_REQUESTS) {
    const answer = await fetch(`${laurel.appUrl}/v1${asked}`, {
      method,
      headers: {
        'X-API-KEY': laurel.adminKey,
        'X-SDK-VERSION': '1.21.1',
        'User-Agent': 'Go-http-client/1.1',
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const at = ['paths', path, method.toLowerCase(), 'responses', String(answer.status), 'content', 'application/json'];
    const pointer = at.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    try {
      decode(`application.json#/${pointer}/schema`, await answer.json());
      expect(answer.ok).toBe(true);
    } catch (error) {
      failed.push(`${method} ${path}`);
      process.stderr.write(`Go ${method} ${path}: ${(error as Error).message.slice(0, 600)}\n`);
    }
  }
  return { name: 'Go, as recorded', version: '1.21.1', called: GO_REQUESTS.length, failed };
}

test('docs/compatibility.md states what the published clients can call', async () => {
  const options = { apiKey: laurel.adminKey, environment: environment() };
  const rows = [
    // Knows one address.
    await javascript('1.0.21', new Client1021({ ...options, environment: options.environment.api })),
    await javascript('1.0.36', new Client1036(options)),
    await javascript('1.0.42', new TrophyApiClient(options)),
    await go(),
  ];
  const cells = [
    ['Client', 'Version', 'Methods called', 'Passed', 'Not passed'],
    ...rows.map(({ name, version, called, failed }) => [
      name,
      version,
      String(called),
      String(called - failed.length),
      failed.map((each) => `\`${each}\``).join(', '),
    ]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |\n`;
  const table = [line(cells[0]!), line(widths.map((width) => '-'.repeat(width))), ...cells.slice(1).map(line)].join('');
  const text = readFileSync(DOCUMENT, 'utf8');
  if (process.env['UPDATE_CLIENTS'] === '1')
    writeFileSync(
      DOCUMENT,
      text.replace(TABLE, () => table),
    );
  else expect(TABLE.exec(text)?.[0]).toBe(table);
});

test('a field that the client holds as null is sent as null, and has no effect', async () => {
  const NULL = null as unknown as undefined;
  const unset = { email: NULL, name: NULL, tz: null, deviceTokens: null, subscribeToEmails: NULL, attributes: NULL };
  const user = { id: '20', name: 'Nell', tz: 'Asia/Tokyo', deviceTokens: ['t'], email: 'nell@example.org' };
  await client.users.create({ ...user, attributes: { plan: 'pro' } });
  const before = await client.users.get('20');
  expect(await client.users.identify('20', unset as object)).toEqual(before);
  expect(await client.users.update('20', unset as object)).toEqual(before);
  const event = { user: { id: '20', ...(unset as object) }, value: 1, attributes: NULL as unknown as {} };
  expect(await client.metrics.event('minutes', event)).toMatchObject({ total: 1 });
  expect(await client.users.get('20')).toMatchObject({ ...user, attributes: { plan: 'pro' } });
  await client.users.updatePreferences('20', { notifications: { recap: NULL as unknown as [] } });
});

test('a repeated completion is the same completion', async () => {
  const complete = () => client.achievements.complete('tour', { user: { id: '21' } });
  expect((await complete()).completionId).toBe((await complete()).completionId);
});

test("the client raises Laurel's errors as its own", async () => {
  const refused = client.metrics.event('flips', { user: { id: '18' }, value: 1, attributes: { nope: 'x' } });
  await expect(refused).rejects.toMatchObject({ statusCode: 422 });
});
