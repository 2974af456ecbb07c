import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { verify } from '../../src/engine/rebuild/verify.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { SETTLEMENT_KINDS } from '../../src/postgres/persist/streaks.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { emptyRedis } from '../stack/all-servers.ts';
import { testStack } from '../stack/stack.ts';
import { STUDY_APP } from '../study-app.ts';
import { rebuildByHand } from '../engine/rebuild/by-hand.ts';
import {
  readInstallation,
  restoreInstallation,
  type StoredAnswer,
  type StoredInstallation,
} from './stored-installation.ts';

const STORED = join(PACKAGE_ROOT, 'test', 'upgrade', 'stored');
const MIGRATIONS = join(PACKAGE_ROOT, 'src', 'postgres', 'migrations');
/** Files that have another number since an installation was stored. */
const RENUMBERED: Readonly<Record<string, string>> = { '000001_schema.sql': '000100_schema.sql' };
const DAY_MS = 86_400_000;
/** Far ahead: the test clock never goes back, and has the time at which an installation was stored. */
const START_MS = Date.UTC(2030, 0, 1, 12);
const USERS = ['ada', 'bo', 'cy', 'dee', 'eve'];

const CONFIGURATION: Configuration = {
  ...STUDY_APP,
  leaderboards: [
    ...STUDY_APP.leaderboards!,
    {
      key: 'firsts',
      name: 'Firsts',
      rankBy: 'metric',
      metricKey: 'flips',
      aggregate: 'max',
      ties: 'first',
      start: '2030-01-01',
      runUnit: 'day',
      runInterval: 1,
      status: 'active',
    },
  ],
  streaks: {
    frequency: 'daily',
    freezes: { enabled: true, initial: 1, max: 3, autoEarnInterval: 7, autoEarnAmount: 1 },
  },
};

type Request = Pick<StoredAnswer, 'surface' | 'method' | 'path' | 'body' | 'headers'>;

const event = (user: string, day: number, value: number, key: string): Request => ({
  surface: 'app',
  method: 'POST',
  path: `/v1/metrics/${day % 3 === 0 ? 'minutes' : 'flips'}/event`,
  body: {
    user: {
      id: user,
      tz: user < 'c' ? 'Europe/Berlin' : 'America/New_York',
      attributes: { plan: user < 'd' ? 'free' : 'pro' },
    },
    value,
    attributes: { deck: `deck ${day % 2}` },
  },
  headers: { 'Idempotency-Key': key },
});

/** Reads that show everything of some users, replays, and new events, in this order. */
const requests = (): Request[] => [
  ...USERS.flatMap((id) => [
    ...[
      '',
      '/metrics',
      '/metrics/flips/event-summary?aggregation=daily&start_date=2030-01-01&end_date=2030-01-31',
      '/achievements',
      '/points/xp',
      '/points/xp/event-summary?aggregation=weekly&start_date=2030-01-01&end_date=2030-01-31',
      '/streak?history_periods=30',
      '/leaderboards/flips',
      '/leaderboards/weekly',
      '/leaderboards/firsts',
      '/preferences',
      '/wrapped?year=2030',
    ].map((rest): Request => ({ surface: 'app', method: 'GET', path: `/v1/users/${id}${rest}` })),
    { surface: 'admin', method: 'GET', path: `/v1/users/${id}/timeline` } satisfies Request,
  ]),
  ...['flips', 'weekly', 'plans', 'firsts'].map((key): Request => ({
    surface: 'app',
    method: 'GET',
    path: `/v1/leaderboards/${key}`,
  })),
  { surface: 'app', method: 'GET', path: '/v1/points/xp/summary' },
  { surface: 'admin', method: 'GET', path: '/v1/configuration' },
];
const replays = (): Request[] => USERS.map((id) => event(id, 1, 4, `${id} 1`));
const nextEvents = (): Request[] => USERS.map((id) => event(id, 31, 7, `${id} 31`));

const send = ({ surface, method, path, body, headers = {} }: Request, laurel: TestLaurel) =>
  laurel[surface].send(method, path, { body, headers });

async function answersOf(laurel: TestLaurel, asked: readonly Request[]): Promise<StoredAnswer[]> {
  const answers: StoredAnswer[] = [];
  for (const request of asked) {
    const { status, body } = await send(request, laurel);
    answers.push({ ...request, status, answer: body as unknown });
  }
  return answers;
}

/** A month of some users: streaks lost and saved by freezes, reversals, a late event, a user deleted. */
async function play(laurel: TestLaurel): Promise<void> {
  for (let day = 0; day <= 30; day += 1) {
    const now = new Date(START_MS + day * DAY_MS).toISOString();
    expect((await laurel.admin.put('/v1/clock', { now })).status).toBe(200);
    for (const [index, id] of USERS.entries()) {
      if ((day + index) % (5 + index) === 4) continue;
      const { status, body } = await send(event(id, day, 4 + index, `${id} ${day}`), laurel);
      expect([status, body]).toEqual([201, expect.anything()]);
      if (day !== 12) continue;
      const reversal = await laurel.admin.post(`/v1/events/${String(body.eventId)}/reverse`);
      expect([reversal.status, reversal.body]).toEqual([200, expect.anything()]);
    }
    if (day === 9) await send(event('gone', day, 3, 'gone 9'), laurel);
    if (day === 10) await laurel.admin.delete('/v1/users?ids=gone');
  }
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'ada' } });
}

/** Waits until Postgres has everything, and compares Redis with it. */
async function stored(laurel: TestLaurel): Promise<void> {
  const onDifference = (): void => undefined;
  await vi.waitFor(async () => expect(await verify({ redis: laurel.redis, pool: laurel.pool, onDifference })).toBe(0), {
    timeout: 120_000,
    interval: 200,
  });
}

/** Plays a month on the present version and stores the installation as one of `version`. */
async function store(version: string): Promise<void> {
  const laurel = await startLaurel({ testClock: true, configuration: CONFIGURATION, workers: true, cluster: false });
  try {
    await play(laurel);
    await stored(laurel);
    const redis = await laurel.connect();
    const installation = await readInstallation(laurel.pool, redis);
    redis.disconnect();
    const answers = await answersOf(laurel, [...requests(), ...replays(), ...nextEvents()]);
    const text = JSON.stringify({ adminKey: laurel.adminKey, ...installation, answers });
    await mkdir(STORED, { recursive: true });
    await writeFile(join(STORED, `${version}.json.gz`), gzipSync(text, { level: 9 }));
  } finally {
    await laurel.close();
  }
}

/** Upgrades a stored installation to the present version, starts it and passes it to a function. */
async function upgraded(installation: StoredInstallation, after: (laurel: TestLaurel) => Promise<void>): Promise<void> {
  const stack = await testStack({ database: 'empty' });
  const folder = await mkdtemp(join(tmpdir(), 'laurel-upgrade-'));
  try {
    for (const file of installation.migrations)
      await cp(join(MIGRATIONS, RENUMBERED[file] ?? file), join(folder, file));
    const pool = createPool(stack.databaseUrl, { max: 2 });
    const redis = new Redis(stack.redisUrl);
    await restoreInstallation(installation, { pool, redis, folder });
    redis.disconnect();
    await migrate(pool);
    await pool.end();
    const laurel = await startLaurel({
      testClock: true,
      databaseUrl: stack.databaseUrl,
      redisUrl: stack.redisUrl,
      adminKey: installation.adminKey,
      workers: true,
    });
    try {
      await after(laurel);
    } finally {
      await laurel.close();
    }
  } finally {
    await rm(folder, { recursive: true });
    await stack.close();
  }
}

interface TimelinePage {
  entries: { kind: string; change?: string; position: string }[];
}

/**
 * Asks again what was asked before the upgrade. The timelines of 1.0 also showed an earned freeze as a lost streak; they are compared
 * without these entries, as far as their page reaches.
 */
async function askedAgain(laurel: TestLaurel, before: readonly StoredAnswer[]) {
  const { rows } = await laurel.pool.query<{ no: string | number }>('SELECT no FROM streak_changes WHERE kind > $1', [
    SETTLEMENT_KINDS.length,
  ]);
  const freezes = new Set(rows.map(({ no }) => Number(no)));
  const isFreeze = ({ kind, change, position }: TimelinePage['entries'][number]): boolean =>
    kind === 'streak' && change === 'lost' && freezes.has(Number(`0x${position.slice(-12)}`));
  const answers = await answersOf(laurel, before);
  const expected = before.map((stored, nth) => {
    if (!stored.path.endsWith('/timeline')) return stored;
    const entries = (stored.answer as TimelinePage).entries.filter((entry) => !isFreeze(entry));
    const page = answers[nth]!.answer as TimelinePage;
    page.entries = page.entries.slice(0, entries.length);
    return { ...stored, answer: { ...(stored.answer as TimelinePage), entries, nextCursor: expect.any(String) } };
  });
  return { answers, expected };
}

const version = process.env['STORE'];
beforeAll(async () => {
  if (version !== undefined) await store(version);
});

const files = new Set(await readdir(STORED));
if (version !== undefined) files.add(`${version}.json.gz`);
describe.each([...files])('an installation of %s', (file) => {
  const read = async () => JSON.parse(gunzipSync(await readFile(join(STORED, file))).toString()) as StoredInstallation;

  test('gives the same answers after the upgrade, and keeps counting', async () => {
    const installation = await read();
    await upgraded(installation, async (laurel) => {
      const { answers, expected } = await askedAgain(laurel, installation.answers);
      expect(answers).toMatchObject(expected);
      await stored(laurel);
    });
  });

  test('can be rebuilt from its database', async () => {
    const installation = await read();
    await upgraded(installation, async (laurel) => {
      const redis = await laurel.connect();
      await emptyRedis(redis);
      await rebuildByHand(laurel, redis);
      redis.disconnect();
      const { answers, expected } = await askedAgain(laurel, installation.answers);
      expect(answers).toMatchObject(expected);
      await stored(laurel);
    });
  });
});
