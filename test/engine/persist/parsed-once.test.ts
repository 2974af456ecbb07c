import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { RECORD } from '../../../src/packed/record-fields.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { testDatabase } from '../../postgres/database.ts';
import { eventRecord, writeEntry } from './outbox-writer.ts';
import { opened } from '../../stack/opened.ts';

/** Postgres considers keeping a statement's plan after five executions. */
const BATCHES = 8;

let redis: Redis;
let pool: Pool;

const database = opened(() => testDatabase());
beforeAll(async () => {
  redis = createRedis(database.stack.redisUrl);
  await redisReady(redis);
  pool = createPool(database.stack.databaseUrl, { max: 1 });
});

afterAll(async () => {
  redis.disconnect();
  await pool.end();
});

const isNew = { [RECORD.isNew]: 1 } as const;

test("a connection parses a batch's statements once, and plans them for the current tables", async () => {
  const persister = new Persister({ redis, pool });
  const known = ['with a streak', 'with points', 'with neither'].map((u) => eventRecord({ u, ...isNew }));
  await writeEntry(redis, 0, { records: known });
  await persister.drain(0, AbortSignal.abort());
  for (let batch = 1; batch <= BATCHES; batch += 1) {
    const records = [
      eventRecord({ u: `new in ${batch}`, ...isNew, [RECORD.completed]: [11] }),
      eventRecord({ u: 'with a streak', [RECORD.due]: 1 }),
      eventRecord({ u: 'with points', [RECORD.points]: [[21, 0, 5, [[22, 5, 5, []]]]] }),
      eventRecord({ u: 'with neither' }),
    ];
    await writeEntry(redis, 0, { records });
    expect(await persister.drain(0, AbortSignal.abort())).toBe(1);
  }

  const { rows } = await pool.query(
    'SELECT name, custom_plans::int AS made, generic_plans::int AS kept FROM pg_prepared_statements WHERE name <> $1 ORDER BY name',
    // Reads one row by its key: one plan suits every shard.
    ['read_cursor'],
  );
  expect(rows).toEqual([
    { name: 'find_analytics_values', made: BATCHES + 1, kept: 0 },
    { name: 'find_summed', made: BATCHES + 1, kept: 0 },
    { name: 'persist_analytics', made: BATCHES + 1, kept: 0 },
    { name: 'persist_completions', made: BATCHES, kept: 0 },
    { name: 'persist_cursor', made: BATCHES + 1, kept: 0 },
    { name: 'persist_day_counts', made: BATCHES + 1, kept: 0 },
    { name: 'persist_points', made: BATCHES, kept: 0 },
    { name: 'persist_states', made: BATCHES, kept: 0 },
    { name: 'persist_streaks', made: BATCHES, kept: 0 },
    { name: 'persist_users', made: BATCHES + 1, kept: 0 },
    // Of users written whole, and of those with a streak.
    { name: 'persist_zones', made: 2 * BATCHES + 1, kept: 0 },
  ]);
});
