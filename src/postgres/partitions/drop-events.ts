import type { Pool, PoolClient } from 'pg';
import { lockCursors } from '../rebuild/epoch.ts';
import { transaction } from '../transaction.ts';
import { LOCK_WAIT_MS, whole } from './event-partitions.ts';

/** Events of a slice, besides the rest of its last user's: some 50 ms, for which nobody stores anything. */
const SLICE = 5_000;

interface Slice {
  /** The first day of the stretch. */
  part: number;
  /** After which tenant and user it begins. */
  after: { tenantNo: number; userId: string };
  /** With whom it ends; null: with the last one. */
  upTo: { tenantNo: number; userId: string } | null;
}

/** Parameters: the stretch, whom the slice begins after, whom it ends with. */
const IN_SLICE = '(tenant_no, user_id) > ($2, $3) AND ($4::int IS NULL OR (tenant_no, user_id) <= ($4, $5))';

const sumEvents = (part: number): string => `
  INSERT INTO event_days (part, tenant_no, user_id, metric_no, local_date, attributes, events, positive, value)
  SELECT $1, tenant_no, user_id, metric_no, local_date, attributes, count(*), count(*) FILTER (WHERE value > 0), sum(value)
    FROM events_d${part} WHERE ${IN_SLICE} GROUP BY tenant_no, user_id, metric_no, local_date, attributes`;

const sumAwards = (part: number): string => `
  INSERT INTO award_days (part, tenant_no, user_id, system_no, local_date, awards, awarded)
  SELECT $1, tenant_no, user_id, system_no, local_date, count(*), sum(awarded)
    FROM awards_d${part} WHERE ${IN_SLICE} GROUP BY tenant_no, user_id, system_no, local_date`;

/**
 * Makes the sums of the next users of a stretch, and notes how far it is: a crash makes none twice. Those who store wait for it, so
 * that nobody is deleted meanwhile whose sums it makes. False: all are made.
 * @param part the first day of the stretch
 */
export function sumNextUsers(pool: Pool, part: number): Promise<boolean> {
  return transaction(pool, async (client) => {
    await lockCursors(client);
    const { rows } = await client.query<Slice['after']>(
      `SELECT coalesce(summed_tenant, -1) AS "tenantNo", coalesce(summed_user, '') AS "userId"
         FROM event_partitions WHERE first_day = $1 FOR UPDATE`,
      [part],
    );
    const after = rows[0]!;
    if (after.tenantNo === ALL_SUMMED) return false;
    const last = await client.query<Slice['after']>(
      `SELECT tenant_no AS "tenantNo", user_id AS "userId" FROM events_d${whole(part)}
        WHERE (tenant_no, user_id) > ($1, $2) ORDER BY tenant_no, user_id LIMIT 1 OFFSET ${SLICE}`,
      [after.tenantNo, after.userId],
    );
    await sum(client, { part, after, upTo: last.rows[0] ?? null });
    return true;
  });
}

/** After this all users are summed. */
const ALL_SUMMED = 2_147_483_647;

async function sum(client: PoolClient, { part, after, upTo }: Slice): Promise<void> {
  const values = [part, after.tenantNo, after.userId, upTo?.tenantNo ?? null, upTo?.userId ?? null];
  await client.query(sumEvents(part), values);
  await client.query(sumAwards(part), values);
  await client.query('UPDATE event_partitions SET summed_tenant = $2, summed_user = $3 WHERE first_day = $1', [
    part,
    upTo?.tenantNo ?? ALL_SUMMED,
    upTo?.userId ?? '',
  ]);
}

/**
 * Drops the events and awards of a stretch whose sums are made; these count from then on. Where something was added to the
 * stretch after it was summed, the sums go instead, and false is answered: they are to be made again. Rejects if it does not get its
 * locks in a second; then nothing is done.
 */
export function dropEvents(pool: Pool, part: number): Promise<boolean> {
  return transaction(pool, async (client) => {
    await lockCursors(client);
    const { rows } = await client.query<{ whole: boolean }>(
      `SELECT (SELECT count(*) FROM events_d${whole(part)}) = (SELECT coalesce(sum(events), 0) FROM event_days WHERE part = $1)
          AND (SELECT count(*) FROM awards_d${part}) = (SELECT coalesce(sum(awards), 0) FROM award_days WHERE part = $1) AS whole`,
      [part],
    );
    if (!rows[0]!.whole) {
      for (const table of ['event_days', 'award_days'])
        await client.query(`DELETE FROM ${table} WHERE part = $1`, [part]);
      await client.query('UPDATE event_partitions SET summed_tenant = NULL WHERE first_day = $1', [part]);
      return false;
    }
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query(`DROP TABLE events_d${part}, awards_d${part}`);
    await client.query('UPDATE event_partitions SET is_dropped = true WHERE first_day = $1', [part]);
    return true;
  });
}
