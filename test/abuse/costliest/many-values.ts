import type { Pool } from 'pg';
import { USER } from './requests.ts';

/** Stores events of the costly user of a tenant, each with a different attribute value, as if they had been sent and persisted. */
export async function storeManyValues(pool: Pool, values: number, tenantNo = 0): Promise<void> {
  await pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes)
     SELECT gen_random_uuid(), $3, $1, metric.no, 1, n, now(), (now() AT TIME ZONE 'UTC')::date,
       jsonb_build_object('attribute-' || n % 10, 'value ' || n)
     FROM generate_series(1, $2::int) AS n, catalog_resources AS metric
     WHERE metric.tenant_no = $3 AND metric.kind = 'metric' AND metric.identity = 'flips' AND metric.deleted IS NULL`,
    [USER, values, tenantNo],
  );
}
