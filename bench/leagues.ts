/**
 * Closing a run of a leaderboard with leagues: copying the final ranks, and moving users between tiers. How long both take, and
 * how long events take meanwhile, compared with the time before.
 * Also the CPU seconds of Postgres and the worker, which depend less on other work of the machine.
 *
 *   npm run bench -- leagues [thousands of users] [events per second]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { askAdmin } from '../src/cli/admin-api.ts';
import { DAY_MS, dateOf } from '../src/domain/periods.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { boardKey } from '../src/redis/keys.ts';
import { onlyPart } from '../test/stack/only-part.ts';
import { processCpu, treeCpu } from './cpu.ts';
import type { Outcome } from './jobs.ts';
import { steadyEvents } from './load.ts';
import { settled, startStack } from './stack.ts';

const USERS = Number(process.argv[2] ?? 100) * 1_000;
const RATE = Number(process.argv[3] ?? 500);
const COHORT_USERS = 30;
/** Every fifth user waits for a cohort of the next run, and every tenth of a higher tier is inactive. */
const WAITING = 5;
const INACTIVE = 10;
const SECONDS_BEFORE = 10;
const AT_ONCE = 20_000;
const RUN_DAY = Math.floor(Date.now() / DAY_MS) - 3;

const stack = await startStack({ users: 0 });
try {
  const { pool, redis } = stack;
  const catalog = (await loadCatalog(pool, 0))!;
  const create = async (kind: string, resource: object): Promise<void> => {
    const request = { method: 'POST', path: `/v1/${kind}`, body: [resource] } as const;
    const { issues } = await askAdmin<{ issues: unknown[] }>(stack.admin, request);
    if (issues.length > 0) throw new Error(JSON.stringify(issues));
  };
  await create('leaderboards', {
    name: 'Leagues',
    key: 'leagues',
    status: 'active',
    rankBy: 'metric',
    metricId: catalog.metrics[0]!.id,
    maxParticipants: null,
    start: dateOf(RUN_DAY),
    runUnit: 'day',
    runInterval: 1,
    leagues: {
      tiers: ['Bronze', 'Silver', 'Gold'].map((name) => ({ name })),
      cohortUsers: COHORT_USERS,
      promoted: 7,
      demoted: 5,
      inactive: 'fall',
    },
  });
  await settled(stack);
  const board = (await loadCatalog(pool, 0))!.leaderboards.find(({ key }) => key === 'leagues')!;

  stack.persist(false);
  console.log(`Storing ${USERS.toLocaleString('en')} users …`);
  const key = boardKey(onlyPart(0), { boardNo: board.no, runDay: RUN_DAY, group: '' });
  for (let from = 0; from < USERS; from += AT_ONCE) {
    const members = Array.from({ length: Math.min(AT_ONCE, USERS - from) }, (_, index) => from + index);
    await redis.zadd(key, ...members.flatMap((n) => [1 + ((n * 7_919) % 100_000), `user-${n}`]));
  }
  const inSlices = async (count: number, text: string, ...values: unknown[]): Promise<void> => {
    for (let from = 0; from < count; from += AT_ONCE)
      await pool.query(text, [from, Math.min(from + AT_ONCE, count) - 1, board.no, ...values]);
  };
  await inSlices(
    Math.ceil(USERS / COHORT_USERS),
    `INSERT INTO league_cohorts (id, tenant_no, board_no, run_day, shard, tier, group_name, members)
     SELECT 1 + n, 0, $3, $4, 0, n % 3, '', ${COHORT_USERS} FROM generate_series($1::int, $2::int) AS n`,
    RUN_DAY,
  );
  await pool.query(`SELECT setval(pg_get_serial_sequence('league_cohorts', 'id'), max(id)) FROM league_cohorts`);
  await inSlices(
    USERS,
    `INSERT INTO league_members (tenant_no, user_id, board_no, run_day, shard, group_name, cohort)
     SELECT 0, 'user-' || n, $3, $4, 0, '', 1 + n / ${COHORT_USERS} FROM generate_series($1::int, $2::int) AS n`,
    RUN_DAY,
  );
  await inSlices(
    USERS,
    `INSERT INTO league_tiers (tenant_no, user_id, board_no, tier)
     SELECT 0, 'user-' || n, $3, n / ${COHORT_USERS} % 3 FROM generate_series($1::int, $2::int) AS n
      WHERE n / ${COHORT_USERS} % 3 > 0`,
  );
  await inSlices(
    USERS / INACTIVE,
    `INSERT INTO league_tiers (tenant_no, user_id, board_no, tier)
     SELECT 0, 'absent-' || n, $3, 2 FROM generate_series($1::int, $2::int) AS n`,
  );
  await inSlices(
    USERS / WAITING,
    `INSERT INTO league_members (tenant_no, user_id, board_no, run_day, shard, group_name)
     SELECT 0, 'user-' || n * ${WAITING}, $3, $4, 0, '' FROM generate_series($1::int, $2::int) AS n`,
    RUN_DAY + 1,
  );
  await pool.query('ANALYZE');

  const send = steadyEvents(stack, catalog, { rate: RATE });
  stack.persist(true);
  await send(SECONDS_BEFORE);
  const cpu = (): { postgres: number; worker: number } => ({
    postgres: treeCpu(stack.pids.postgres),
    worker: processCpu(stack.pids.worker),
  });
  const cpuBefore = cpu();
  const eventsBegan = performance.now();
  const before = await send(SECONDS_BEFORE);
  const eventsSeconds = (performance.now() - eventsBegan) / 1_000;
  const cpuBegan = cpu();

  await pool.query(`DELETE FROM board_runs WHERE tenant_no = 0 AND board_no = $1`, [board.no]);
  await pool.query(
    `UPDATE board_progress SET next_run_day = $2, next_snapshot_day = $2 + 1 WHERE tenant_no = 0 AND board_no = $1`,
    [board.no, RUN_DAY],
  );
  await pool.query(
    `INSERT INTO league_boards VALUES (0, $1, $2) ON CONFLICT (tenant_no, board_no) DO UPDATE SET open_run_day = $2`,
    [board.no, RUN_DAY],
  );
  // An edit makes the worker look for due work.
  await create('attributes', { name: 'Wakes', key: 'wakes', type: 'user' });
  const began = performance.now();
  const state = async (): Promise<{ final: number; owed: number; moves: number }> =>
    (
      await pool.query<{ final: number; owed: number; moves: number }>(
        `SELECT (SELECT count(*)::int FROM board_runs WHERE board_no = $1 AND is_final) AS final,
                (SELECT count(*)::int FROM league_closings JOIN board_runs ON id = run_id WHERE run_day = $2) AS owed,
                (SELECT count(*)::int FROM league_moves WHERE run_day = $2) AS moves`,
        [board.no, RUN_DAY],
      )
    ).rows[0]!;
  const closed = async (): Promise<{ copied: number; moved: number }> => {
    let copied = 0;
    for (;;) {
      const { final, owed } = await state();
      if (final > 0 && copied === 0) copied = (performance.now() - began) / 1_000;
      if (final > 0 && owed === 0) return { copied, moved: (performance.now() - began) / 1_000 - copied };
      await sleep(100);
    }
  };
  const rounds: Outcome[] = [];
  let isOver = false;
  const whole = closed().finally(() => (isOver = true));
  while (!isOver) rounds.push(await send(5));
  const { copied, moved } = await whole;
  const { moves } = await state();
  const cpuEnded = cpu();
  /** CPU seconds, without those of as many events before. */
  const more = (of: 'postgres' | 'worker'): string => {
    const share = (copied + moved) / eventsSeconds;
    return (cpuEnded[of] - cpuBegan[of] - share * (cpuBegan[of] - cpuBefore[of])).toFixed(1);
  };
  console.log(
    `${USERS.toLocaleString('en')} users: copied in ${copied.toFixed(1)} s, moved ${moves.toLocaleString('en')} users in ${moved.toFixed(1)} s at ${RATE} events/s`,
  );
  console.log(`CPU of both: Postgres ${more('postgres')} s, the worker ${more('worker')} s`);
  console.log(
    `events: p50 ${before.p50.toFixed(1)} ms and p99 ${before.p99.toFixed(1)} ms before; ` +
      `beside, 5 s each: ${rounds.map(({ p50, p99 }) => `${p50.toFixed(1)}/${p99.toFixed(1)}`).join(', ')} ms`,
  );
} finally {
  await stack.stop();
}
