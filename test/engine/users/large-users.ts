import { expect } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { JobRunner, type JobWork } from '../../../src/engine/schedule/job-runner.ts';
import { knownParts } from '../../../src/redis/parts.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

/** Rows that a large user has more than its own. */
export const ROWS = 5_000;

/** What tests of users with many rows share. Call this at the top of a test file. */
export function largeUsers() {
  const laurel = opened(() =>
    startLaurel({
      spread: 1,
      configuration: {
        metrics: [{ key: 'm', name: 'M' }],
        streaks: { enabled: true, frequency: 'daily' },
        pointsSystems: [
          {
            key: 'xp',
            name: 'XP',
            triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
          },
        ],
      },
    }),
  );

  const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    (await laurel.pool.query<Record<string, unknown>>(sql, values)).rows;

  const countOf = async (table: string, id: string): Promise<number> =>
    (await rows(`SELECT count(*)::int AS n FROM ${table} WHERE user_id = $1`, id))[0]!['n'] as number;

  const persist = (): Promise<number> =>
    new Persister({ redis: laurel.redis, pool: laurel.pool }).drain(knownParts(laurel.redis, 0)[0]!.shard);

  /** `isNew`: whether the key was not used before. */
  async function send(id: string, key: string, isNew = true): Promise<void> {
    const headers = { 'Idempotency-Key': key };
    const { status } = await laurel.app.post('/v1/metrics/m/event', { user: { id }, value: 1 }, { headers });
    expect(status).toBe(isNew ? 201 : 202);
  }

  /** Copies the user's event, with a key if asked, and award of today into the past. */
  async function makeLarge(id: string, { withKeys = false } = {}): Promise<void> {
    await rows(
      `WITH copied AS (
         INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, idempotency_key)
         SELECT gen_random_uuid(), tenant_no, user_id, metric_no, value, total, at, local_date - (n % 50),
                CASE WHEN $2 THEN 'key ' || n END
           FROM events CROSS JOIN generate_series(1, ${ROWS}) AS n WHERE user_id = $1 RETURNING *)
       INSERT INTO used_keys SELECT id, tenant_no, user_id, metric_no, idempotency_key FROM copied WHERE $2`,
      id,
      withKeys,
    );
    await rows(
      `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
       SELECT gen_random_uuid(), tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date - (n % 50)
         FROM awards CROSS JOIN generate_series(1, ${ROWS}) AS n WHERE user_id = $1`,
      id,
    );
  }

  /** A worker's runner; it stops once while a slice is being recorded, if asked. */
  function runnerOf(work: JobWork<never>, stops: boolean): JobRunner {
    let left = stops ? 1 : 0;
    return new JobRunner({
      pool: laurel.pool,
      works: [work],
      leaseMs: 50,
      onMoment: (moment) => {
        if (moment !== 'recording' || left === 0) return;
        left -= 1;
        throw new Error('ended here');
      },
    });
  }

  return { laurel, rows, countOf, persist, send, makeLarge, runnerOf };
}
