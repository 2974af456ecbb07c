/**
 * Rebuilds Redis from Postgres and compares both: users (default 1,000,000) of the demo catalog with generated states, and
 * as many events with idempotency keys. Then moves their shard to another Redis.
 *
 *   npm run bench -- rebuild [users]
 *
 * Uses a temporary Postgres and a temporary Redis with `appendfsync always`.
 */
import { packState } from '../src/packed/pack-state.ts';
import type { PackedStreak } from '../src/packed/state.ts';
import { USER } from '../src/packed/user-fields.ts';
import { uuidText } from '../src/domain/schemas.ts';
import { KeyedIds } from '../src/engine/ids.ts';
import { rebuildServers } from '../src/engine/availability/accept.ts';
import { verify } from '../src/engine/rebuild/verify.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const USERS_A_PAGE = 10_000;
const EVENT_MS = 1_763_800_000_000;
const users = Number(process.argv[2] ?? 1_000_000);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const servers = await temporaryServers({ durable: true });
const { redis, pool } = servers;
try {
  const catalog = await demoCatalog(pool);
  const keyedIds = await KeyedIds.of(pool);
  console.log(`Storing ${users.toLocaleString('en')} users …`);
  for (let from = 0; from < users; from += USERS_A_PAGE) {
    const numbers = Array.from({ length: Math.min(USERS_A_PAGE, users - from) }, (_, index) => from + index);
    const states = numbers.map((n) => stateOf(n));
    await pool.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points)
       SELECT 0, 'user-' || n, now(), state, '{}', '{}' FROM unnest($1::int[], $2::bytea[]) AS made (n, state)`,
      [numbers, states],
    );
  }
  const metricNo = catalog.metrics[0]!.no;
  for (let from = 0; from < users; from += USERS_A_PAGE) {
    const numbers = Array.from({ length: Math.min(USERS_A_PAGE, users - from) }, (_, index) => from + index);
    const ids = numbers.map((n) =>
      uuidText(keyedIds.make(EVENT_MS + n, { tenantNo: 0, userId: `user-${n}`, metricNo, key: `key ${n}` })),
    );
    await pool.query(
      `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, idempotency_key)
       SELECT id, 0, 'user-' || n, $3, 1, 1, now(), current_date, 'key ' || n
         FROM unnest($1::int[], $2::uuid[]) AS made (n, id)`,
      [numbers, ids, metricNo],
    );
    await pool.query(
      `INSERT INTO used_keys (id, tenant_no, user_id, metric_no, idempotency_key)
       SELECT id, 0, 'user-' || n, $3, 'key ' || n FROM unnest($1::int[], $2::uuid[]) AS made (n, id)`,
      [numbers, ids, metricNo],
    );
  }
  await pool.query(
    `INSERT INTO completions (tenant_no, user_id, achievement_no, at)
     SELECT 0, 'user-' || n, no, now() FROM generate_series(0, $1::int - 1) AS n, unnest($2::int[]) AS no`,
    [users, catalog.achievements.slice(0, 3).map(({ no }) => no)],
  );
  await pool.query('VACUUM ANALYZE');
  const timed = async (name: string, work: () => Promise<number | void>): Promise<void> => {
    const startedMs = performance.now();
    const cpu = process.cpuUsage();
    const said = await work();
    const { user, system } = process.cpuUsage(cpu);
    const took = `${seconds(performance.now() - startedMs)}, CPU of this process ${seconds((user + system) / 1000)}`;
    console.log(`${name}: ${took}${said === undefined ? '' : ` (${said} differences)`}`);
  };
  await timed('rebuild of an empty Redis', () => rebuildServers({ redis, pool }));
  const beganMs = new Map<string, number>();
  await timed('verify', () =>
    verify({
      redis,
      pool,
      onDifference: console.log,
      onProgress: ({ step }) => void (beganMs.has(step) || beganMs.set(step, performance.now())),
    }),
  );
  const steps = [...beganMs].map(
    ([step, ms], index, all) => `${step} ${seconds((all[index + 1]?.[1] ?? performance.now()) - ms)}`,
  );
  console.log(`  steps: ${steps.join(', ')}`);
  const memory = /^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1];
  console.log(`Redis: ${Math.round(Number(memory) / users)} bytes per user, with an idempotency key each`);

  /** A user's state after a while: totals, streaks, points, completions, two runs of each leaderboard. */
  function stateOf(n: number): Buffer {
    const day = 20_000 + (n % 7);
    const streak: PackedStreak = [n % 40, 20_000, 20_040, 1_763_800_000_000, 20_040];
    const each = <T>(resources: readonly { no: number }[], value: T): Record<number, T> =>
      Object.fromEntries(resources.map(({ no }) => [no, value]));
    return packState({
      [USER.createdMs]: 1_763_000_000_000,
      [USER.updatedMs]: 1_763_800_000_000,
      [USER.name]: `User ${n}`,
      [USER.zone]: 'Europe/Berlin',
      [USER.offsetSeconds]: 3_600,
      [USER.offsetUntilMs]: 1_774_746_000_000,
      [USER.totals]: each(catalog.metrics, [n % 1_000, 0] as const),
      [USER.counts]: {},
      [USER.streaks]: [streak, streak, streak],
      [USER.points]: each(catalog.pointsSystems, n % 10_000),
      [USER.completions]: each(catalog.achievements.slice(0, 3), 1_763_800_000_000),
      [USER.boards]: catalog.leaderboards.flatMap(({ no }) =>
        [
          [no, day + 7, '', 1 + (n % 5_000), 0],
          [no, day, '', 1 + (n % 300), 500_000],
        ].flat(),
      ),
    });
  }
} finally {
  await servers.close();
}
