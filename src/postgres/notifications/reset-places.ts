import type { PoolClient } from 'pg';
import { windowEndMs } from '../../domain/notification-windows.ts';

/**
 * Discards the known ranks of tenants' leaderboards and schedules reading them again within 15 minutes of a time (epoch ms), in the client's
 * transaction. Ranks that change until then without an event of the user are not reported. Idempotent.
 */
export async function resetPlaces(
  client: PoolClient,
  tenants: readonly { tenantNo: number; atMs: number }[],
): Promise<void> {
  if (tenants.length === 0) return;
  const tenantNos = tenants.map(({ tenantNo }) => tenantNo);
  // Boards first, the same order as when they are deleted with their places, which prevents deadlocks.
  await client.query(
    `UPDATE notification_boards AS board SET compare_ms = least(compare_ms, end_ms)
       FROM unnest($1::int[], $2::bigint[]) AS ended (tenant_no, end_ms) WHERE board.tenant_no = ended.tenant_no`,
    [tenantNos, tenants.map(({ atMs }) => windowEndMs(atMs))],
  );
  await client.query('DELETE FROM notification_places WHERE tenant_no = ANY ($1)', [tenantNos]);
}
