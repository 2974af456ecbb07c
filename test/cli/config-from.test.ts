import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { runAdminCli } from './run-cli.ts';

// `laurel config pull --from`: the source is a Laurel behind a server that answers only what the contract has.
const RICH: Configuration = {
  ...STUDY_APP,
  metrics: [
    { key: 'flips', name: 'Flashcards flipped', units: 'cards' },
    { key: 'minutes', name: 'Minutes studied' },
    { key: 'spent', name: 'Spent', unitType: 'currency', units: 'USD' },
  ],
  achievements: [
    ...STUDY_APP.achievements!,
    {
      name: 'Polyglot',
      description: 'Many languages',
      badge: { url: 'https://example.org/p.png' },
      status: 'locked',
      trigger: 'metric',
      metricKey: 'flips',
      metricValue: 2.5,
      userAttributes: [{ key: 'plan', value: 'pro' }],
      eventAttributes: [{ key: 'deck', value: 'es' }],
    },
    { name: 'Years', trigger: 'anniversary', anniversaryYears: 1, status: 'active' },
  ],
  pointsSystems: [
    {
      ...STUDY_APP.pointsSystems![0]!,
      description: 'For everything',
      badge: { url: 'https://example.org/xp.png' },
      maxPoints: 500,
      levels: [
        { key: 'novice', name: 'Novice', points: 10, description: 'So it begins' },
        { key: 'expert', name: 'Expert', points: 100, badge: { url: 'https://example.org/e.png' } },
      ],
      triggers: [
        ...STUDY_APP.pointsSystems![0]!.triggers!,
        { type: 'streak', streakLength: 7, points: 20 },
        { type: 'time', timeUnit: 'hours', timeInterval: 12, points: 1, status: 'active' },
        {
          type: 'metric',
          metricKey: 'spent',
          metricThreshold: 1,
          points: -1,
          blockIfOutOfPoints: true,
          status: 'active',
          userAttributes: [{ key: 'plan', value: 'pro' }],
          eventAttributes: [{ key: 'deck', value: 'es' }],
        },
      ],
      boosts: [
        { name: 'Double', start: '2026-01-01', multiplier: 2 },
        {
          name: 'Pro',
          start: '2026-01-01',
          end: '2127-02-01',
          multiplier: 1.5,
          rounding: 'nearest',
          userAttributes: [{ key: 'plan', value: 'pro' }],
        },
        { name: 'One', userId: 'user/1', start: '2026-01-01', multiplier: 3, rounding: 'up' },
      ],
    },
    { key: 'gold', name: 'Gold' },
  ],
  leaderboards: [
    // The contract has no teams.
    ...STUDY_APP.leaderboards!.map(({ teamAttributeKey: _team, ...board }) => board),
    {
      key: 'nights',
      name: 'Nights',
      description: 'Who is awake',
      rankBy: 'streak',
      maxParticipants: 50,
      start: '2026-02-01',
      end: '2127-03-01',
      startTime: '20:00',
      endTime: '23:30',
      status: 'inactive',
    },
    {
      key: 'gold',
      name: 'Gold',
      rankBy: 'points',
      pointsSystemKey: 'gold',
      start: '2026-01-01',
      runUnit: 'month',
      runInterval: 2,
    },
  ],
  streaks: {
    frequency: 'daily',
    weekStart: 'monday',
    evaluationMode: 'AND',
    daysOff: [0, 6],
    metrics: [{ metricKey: 'flips', threshold: 3 }],
    freezes: { enabled: true, initial: 1, max: 4, autoEarnInterval: 7, autoEarnAmount: 2 },
    personalization: true,
  },
  events: { lateEventDays: 3 },
};

interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  'x-present-by-trigger'?: Record<string, string[]>;
}
type Answer = { content: { 'application/json': { schema: Schema } } };
interface Document {
  paths: Record<string, { get?: { responses: Record<string, Answer> } }>;
  components: { schemas: Record<string, Schema> };
}
const [older, newer] = ['admin.json', 'newer.json'].map(
  (name) => JSON.parse(readFileSync(new URL(`../contract/${name}`, import.meta.url), 'utf8')) as Document,
) as [Document, Document];

/** A value without the fields that the contract does not name. */
function cut(document: Document, schema: Schema, value: unknown): unknown {
  if (schema.$ref !== undefined)
    return cut(document, document.components.schemas[schema.$ref.split('/').pop()!]!, value);
  if (Array.isArray(value)) return value.map((each) => cut(document, schema.items!, each));
  const form = schema.oneOf?.find((one) => one.type !== 'null') ?? schema;
  if (form.$ref !== undefined) return value === null ? null : cut(document, form, value);
  if (value === null || typeof value !== 'object' || form.properties === undefined) return value;
  const byTrigger = form['x-present-by-trigger'] ?? {};
  const here = byTrigger[(value as { trigger?: string }).trigger ?? ''] ?? [];
  const elsewhere = new Set(
    Object.values(byTrigger)
      .flat()
      .filter((name) => !here.includes(name)),
  );
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => form.properties![name] !== undefined && !elsewhere.has(name))
      .map(([name, each]) => [name, cut(document, form.properties![name]!, each)]),
  );
}

let [there, here]: TestLaurel[] = [];
let source: Server;
let folder: string;
let file: string;
let asked: string[] = [];
/** Items per page, whether the source has the newest contract, and an answer to send instead. */
let most = 100;
let isNew = true;
let instead: (
  path: string,
  nth: number,
) => { status: number; headers?: Record<string, string>; body?: string } | undefined;

beforeAll(async () => {
  [there, here] = await Promise.all([startLaurel({ configuration: RICH }), startLaurel()]);
  source = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => void source.listen(0, '127.0.0.1', listening));
  folder = await mkdtemp(join(tmpdir(), 'laurel-test-from-'));
  file = join(folder, 'laurel.json');
});
beforeEach(() => {
  asked = [];
  [most, isNew] = [100, true];
  instead = () => undefined;
});
afterEach(async () => {
  await here!.admin.put('/v1/configuration', { ...EMPTY, streaks: { weekStart: 'sunday' } });
});
afterAll(async () => {
  source.closeAllConnections();
  await new Promise((closed) => source.close(closed));
  await Promise.all([there!.close(), here!.close()]);
  await rm(folder, { recursive: true });
});
const EMPTY = { attributes: [], metrics: [], achievements: [], pointsSystems: [], leaderboards: [] };

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url!, 'http://source');
  asked.push(request.url!);
  const other = instead(url.pathname, asked.filter((each) => each === request.url).length);
  if (other !== undefined)
    return void response.writeHead(other.status, other.headers).end(other.body ?? '{"error":"no"}');
  const shape = url.pathname.replace('/v1', '').replace(/[\da-f]{8}-[\da-f-]+/, '{systemId}');
  const document = older.paths[shape] ? older : isNew ? newer : null;
  const schema = document?.paths[shape]?.get?.responses['200']!.content['application/json'].schema;
  if (schema === undefined) return void response.writeHead(404).end('{"error":"Not Found"}');
  if (url.searchParams.has('limit'))
    url.searchParams.set('limit', String(Math.min(most, Number(url.searchParams.get('limit')))));
  const { status, body } = await there!.admin.get(url.pathname + url.search);
  response.writeHead(status).end(JSON.stringify(cut(document!, schema, body)));
}

const base = (): string => `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
const config = (words: string[]) => runAdminCli(here!, ['config', ...words], { SOURCE_API_KEY: there!.adminKey });
const pull = (...more: string[]) => config(['pull', file, '--from', base(), '--rate', '500', ...more]);
const read = async (): Promise<Configuration> => JSON.parse(await readFile(file, 'utf8')) as Configuration;
/** What the source's own document would still change here. */
const leftOut = async (): Promise<{ action: string; kind: string; name: string; fields: string[] }[]> => {
  const { body: document } = await there!.admin.get('/v1/configuration');
  const { body } = await here!.admin.post('/v1/configuration/diff', document);
  return body.changes;
};

test.each([
  ['behind a server of the contract, in pages of two', true],
  ['as Laurel answers, with /v1', false],
])('pulling %s and pushing changes only what the command lists', async (_, isCut) => {
  most = 2;
  const from = isCut ? base() : `${there!.adminUrl}/v1/`;
  const pulled = await config(['pull', file, '--from', from, '--rate', '500']);
  expect(pulled).toMatchObject({ code: 0, out: expect.stringMatching(/^Wrote .*: attributes \d+, metrics \d+, /) });
  expect(await config(['push', file])).toMatchObject({ code: 0, err: '' });
  expect(await config(['diff', file])).toEqual({ code: 0, out: 'No differences.\n', err: '' });
  const left = await leftOut();
  expect(left.map(({ action, kind, name, fields }) => [action, kind, name, fields])).toEqual([
    ...(isCut
      ? [
          ['update', 'achievement', 'ten', ['key']],
          ['update', 'achievement', 'day', ['key']],
          ['update', 'achievement', 'both', ['key', 'achievementKeys', 'achievementNames']],
        ]
      : []),
    ['update', 'streaks', 'streaks', ['weekStart']],
    ['update', 'events', 'events', ['lateEventDays']],
  ]);
  for (const named of ['streaks.weekStart', 'events', 'webhooks', 'guards']) expect(pulled.err).toContain(named);
  expect(pulled.err).toContain('achievements[].key');
  if (isCut) expect(asked).toContain('/v1/metrics?limit=100&skip=2');
});

test('from an older source, deletes nothing that the source cannot show; --partial leaves out single items', async () => {
  await here!.admin.put('/v1/configuration', RICH);
  isNew = false;
  const { code, err } = await pull();
  expect(code).toBe(0);
  expect(err).toContain('achievements: the source does not show them');
  expect(err).toContain('streaks: the source does not show them');
  expect(err).toMatch(
    /pointsSystems\.xp\.triggers: .*achievement \(achievement [\da-f-]{36}\): the whole list is left out/,
  );
  expect(Object.keys(await read())).toEqual(['attributes', 'metrics', 'pointsSystems', 'leaderboards']);
  expect((await read()).pointsSystems!.map((system) => Object.keys(system).includes('triggers'))).toEqual([
    false,
    true,
  ]);
  expect(await config(['diff', file])).toMatchObject({ code: 0, out: 'No differences.\n' });

  await pull('--partial');
  expect((await read()).pointsSystems![0]!.triggers).toHaveLength(5);
  expect((await config(['diff', file])).out).toContain('- trigger achievement of points system xp\n1 archived\n');

  // Also a list of which only one place is unknown.
  instead = (path) => (path.endsWith('/levels') ? { status: 403 } : undefined);
  await pull();
  expect((await read()).pointsSystems!.some((system) => Object.keys(system).includes('levels'))).toBe(false);
  expect(await config(['diff', file])).toMatchObject({ code: 0, out: 'No differences.\n' });
});

test('retries a source that refuses for a moment; an unreadable answer ends the command, which writes nothing', async () => {
  instead = (path, nth) =>
    path === '/v1/metrics' && nth === 1 ? { status: 429, headers: { 'Retry-After': '0' } } : undefined;
  expect(await pull()).toMatchObject({ code: 0 });
  expect(asked.filter((path) => path === '/v1/metrics?limit=100&skip=0')).toHaveLength(2);
  const before = await readFile(file, 'utf8');
  const ends: [Parameters<typeof pull>[number][], ReturnType<typeof instead>, RegExp][] = [
    [[], { status: 302, headers: { Location: 'http://127.0.0.1:1/' } }, /^The source redirects .*sent nowhere else/],
    [[], { status: 401 }, /^The source refuses the key/],
    [[], { status: 404 }, /^The source shows nothing/],
    [[], { status: 422 }, /^The source does not answer \/v1\/attributes.*Nothing was written/],
    [[], { status: 200, body: '[{"id":1}]' }, /does not answer \/v1\/attributes as the Admin API does/],
    [[], { status: 200, body: '['.padEnd(17_000_000) }, /more than 16 MiB/],
    [['--from', 'ftp://nowhere'], undefined, /--from must be an address/],
    [['--from', 'http://127.0.0.1:1?a=b'], undefined, /--from must be an address/],
    [['--from', 'http://me:secret@127.0.0.1:1'], undefined, /^--from must not hold a user name or password: [^@]*$/],
  ];
  for (const [words, other, why] of ends) {
    instead = () => other;
    const { code, out, err } = await pull(...words);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(why);
  }
  expect(await readFile(file, 'utf8')).toBe(before);
});
