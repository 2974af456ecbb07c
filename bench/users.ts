/**
 * A tenant with many users (default 1,000,000), each on two boards: how long listing, searching and deleting take, and
 * what events have to wait beside deletions. States and names are made by a statement.
 *
 *   npm run bench:users -- [users]
 *
 * Uses a temporary Postgres and a temporary Redis with `appendfsync always`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { packState } from '../src/packed/pack-state.ts';
import type { PackedStreak } from '../src/packed/state.ts';
import { USER } from '../src/packed/user-fields.ts';
import { systemClock } from '../src/clock.ts';
import { openLaurel } from '../src/processes/composition.ts';
import { rebuildServers } from '../src/engine/availability/accept.ts';
import { createLog } from '../src/log/log.ts';
import { listUsers, searchUsers } from '../src/postgres/users/find-users.ts';
import { startWorkers } from '../workers/start.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const users = Number(process.argv[2] ?? 1_000_000);
const USERS_A_PAGE = 100_000;
const DELETIONS = 200;
const percentiles = (took: number[]): string => {
  const sorted = took.toSorted((a, b) => a - b);
  return [0.5, 0.99, 1].map((part) => (sorted[Math.ceil(sorted.length * part) - 1] ?? 0).toFixed(1)).join(' / ');
};
async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

const servers = await temporaryServers({ durable: true });
const { redis, pool } = servers;
try {
  const catalog = await demoCatalog(pool);
  const startDay = Math.floor(Date.now() / 86_400_000);
  const each = <T>(list: readonly { no: number }[], value: T): Record<number, T> =>
    Object.fromEntries(list.map(({ no }) => [no, value]));
  const streak: PackedStreak = [3, 20_000, 20_002, 1_763_800_000_000, 20_002];
  const state = packState({
    [USER.createdMs]: 1_763_000_000_000,
    [USER.updatedMs]: 1_763_800_000_000,
    [USER.totals]: each(catalog.metrics, [120, 0] as const),
    [USER.counts]: {},
    [USER.streaks]: [streak, streak, streak],
    [USER.points]: each(catalog.pointsSystems, 250),
    [USER.completions]: each(catalog.achievements.slice(0, 3), 1_763_800_000_000),
    [USER.boards]: catalog.leaderboards.slice(0, 2).flatMap(({ no }) => [no, startDay, '', 17, 0]),
  });
  for (let from = 0; from < users; from += USERS_A_PAGE) {
    await pool.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points, name_key, last_name_key, email_key)
       SELECT 0, 'user-' || n, now(), $3, '{}', '{}', 'first' || n % 5000 || ' last' || n % 30000, 'last' || n % 30000,
              'mail' || n || '@example.com'
         FROM generate_series($1::int, $2::int - 1) AS n`,
      [from, Math.min(from + USERS_A_PAGE, users), state],
    );
  }
  await pool.query('VACUUM ANALYZE users');
  await rebuildServers({ redis, pool });
  console.log(`${users.toLocaleString('en')} users are there.`);

  const page = { tenantNo: 0, limit: 100, skip: 0, after: null, order: 'asc' } as const;
  const found = (search: string) => searchUsers(pool, { tenantNo: 0, search, after: null, limit: 100 });
  for (const [name, work] of [
    ['list, the first 100', () => listUsers(pool, page)],
    [
      'list, 100 from the middle, passing over the others',
      () => listUsers(pool, { ...page, skip: Math.floor(users / 2) }),
    ],
    ['list, 100 after one in the middle', () => listUsers(pool, { ...page, after: 'user-5' })],
    ['list, the last 100', () => listUsers(pool, { ...page, order: 'desc' })],
    ['search by ID', () => found('user-77')],
    ['search by a name of many', () => found('first')],
    ['search by a last name', () => found('last777')],
    ['search by e-mail', () => found('mail4242')],
    ['search for nobody', () => found('zzz')],
  ] as const) {
    const took: number[] = [];
    for (let n = 0; n < 20; n += 1) took.push(await timed(work));
    console.log(`${name}: median / slowest ${percentiles(took).replace(/ \/ [\d.]+ \//, ' /')} ms`);
  }

  const scanned = await timed(async () => {
    let cursor = '0';
    do [cursor] = await redis.scan(cursor, 'MATCH', '{s0}:0:[bp]:*', 'COUNT', 5_000);
    while (cursor !== '0');
  });
  console.log(`looking through all keys of Redis, as a deletion did before: ${scanned.toFixed(0)} ms`);

  const log = createLog({ level: 'fatal', name: 'bench' });
  const { redisUrl, databaseUrl } = servers;
  const laurel = await openLaurel({
    redisUrl,
    databaseUrl,
    backlogLimit: 1_000_000,
    webhookAllowPrivate: false,
    clock: systemClock,
    log,
  });
  const workers = await startWorkers({ redisUrl, databaseUrl, log });
  const events = async (on: AbortSignal): Promise<number[]> => {
    const took: number[] = [];
    for (let n = 0; !on.aborted; n += 1) {
      const event = { user: { id: `active-${n % 100}` }, value: 1 };
      took.push(
        await timed(() => laurel.services.events.record(0, catalog.metrics[0]!.key, { event, idempotencyKey: null })),
      );
      await sleep(5);
    }
    return took;
  };
  console.log(`events alone: p50 / p99 / slowest ${percentiles(await events(AbortSignal.timeout(5_000)))} ms`);
  const end = new AbortController();
  const beside = events(end.signal);
  const took: number[] = [];
  for (let n = 0; n < DELETIONS; n += 1) {
    took.push(await timed(() => laurel.services.deletion.delete(0, [`user-${n * 7}`], { by: { who: 'bench' } })));
  }
  end.abort();
  console.log(`deleting one: p50 / p99 / slowest ${percentiles(took)} ms`);
  console.log(`events beside deletions: p50 / p99 / slowest ${percentiles(await beside)} ms`);
  await workers.close();
  await laurel.close();
} finally {
  await servers.close();
}
