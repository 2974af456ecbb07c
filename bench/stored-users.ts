import type { Pool } from 'pg';
import type { Catalog } from '../src/domain/catalog.ts';
import { uuidText } from '../src/domain/schemas.ts';
import { KeyedIds } from '../src/engine/ids.ts';
import { encodeUser } from '../src/rules/user-codec.ts';
import { newUser } from '../src/rules/user.ts';

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
  const streak = {
    length: n % 40,
    startDay: 20_000,
    lastPeriod: 20_040,
    extendedMs: 1_763_800_000_000,
    currentPeriod: 20_040,
    sums: new Map(),
  };
  const each = <T>(resources: readonly { no: number }[], value: T): Map<number, T> =>
    new Map(resources.map(({ no }) => [no, value]));
  return encodeUser({
    ...newUser(1_763_000_000_000, { freezes: 0, generation: null }),
    updatedMs: 1_763_800_000_000,
    name: `User ${n}`,
    zone: 'Europe/Berlin',
    offsetSeconds: 3_600,
    offsetUntilMs: 1_774_746_000_000,
    totals: each(catalog.metrics, { whole: n % 1_000, micros: 0, peak: null }),
    streaks: { daily: streak, weekly: streak, monthly: streak },
    points: each(catalog.pointsSystems, n % 10_000),
    completions: each(catalog.achievements.slice(0, 3), 1_763_800_000_000),
    scores: catalog.leaderboards.flatMap(({ no }) => [
      { board: no, runDay: day + 7, group: '', whole: 1 + (n % 5_000), micros: 0 },
      { board: no, runDay: day, group: '', whole: 1 + (n % 300), micros: 500_000 },
    ]),
  });
}
