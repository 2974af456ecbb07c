import type { Pool } from 'pg';
import type { Catalog } from '../src/domain/catalog.ts';
import { uuidText } from '../src/domain/schemas.ts';
import { KeyedIds } from '../src/engine/ids.ts';
import { packState } from '../src/packed/pack-state.ts';
import type { PackedStreak } from '../src/packed/state.ts';
import { USER } from '../src/packed/user-fields.ts';

const USERS_A_PAGE = 10_000;
const EVENT_MS = 1_763_800_000_000;

/** Stores users of a tenant in Postgres, each with a generated state, three completions and one event with an idempotency key. */
export async function storeUsers(pool: Pool, catalog: Catalog, users: number): Promise<void> {
  const { tenantNo } = catalog;
  const metricNo = catalog.metrics[0]!.no;
  const keyedIds = await KeyedIds.of(pool);
  console.log(`Storing ${users.toLocaleString('en')} users …`);
  for (let from = 0; from < users; from += USERS_A_PAGE) {
    const numbers = Array.from({ length: Math.min(USERS_A_PAGE, users - from) }, (_, index) => from + index);
    await pool.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points)
       SELECT $3, 'user-' || n, now(), state, '{}', '{}' FROM unnest($1::int[], $2::bytea[]) AS made (n, state)`,
      [numbers, numbers.map((n) => stateOf(catalog, n)), tenantNo],
    );
    const ids = numbers.map((n) =>
      uuidText(keyedIds.make(EVENT_MS + n, { tenantNo, userId: `user-${n}`, metricNo, key: `key ${n}` })),
    );
    await pool.query(
      `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, idempotency_key)
       SELECT id, $4, 'user-' || n, $3, 1, 1, now(), current_date, 'key ' || n
         FROM unnest($1::int[], $2::uuid[]) AS made (n, id)`,
      [numbers, ids, metricNo, tenantNo],
    );
    await pool.query(
      `INSERT INTO used_keys (id, tenant_no, user_id, metric_no, idempotency_key)
       SELECT id, $4, 'user-' || n, $3, 'key ' || n FROM unnest($1::int[], $2::uuid[]) AS made (n, id)`,
      [numbers, ids, metricNo, tenantNo],
    );
  }
  await pool.query(
    `INSERT INTO completions (tenant_no, user_id, achievement_no, at)
     SELECT $3, 'user-' || n, no, now() FROM generate_series(0, $1::int - 1) AS n, unnest($2::int[]) AS no`,
    [users, catalog.achievements.slice(0, 3).map(({ no }) => no), tenantNo],
  );
  await pool.query('VACUUM ANALYZE');
}

/** A user's state after a while: totals, streaks, points, completions, two runs of each leaderboard. */
function stateOf(catalog: Catalog, n: number): Buffer {
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
