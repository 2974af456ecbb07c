import type { PoolClient } from 'pg';
import { windowEndMs } from '../../domain/notification-windows.ts';

/**
 * Forgets the places of tenants' boards, and has them read within 15 minutes of a time (epoch ms), in the client's transaction:
 * ranks that changed by then without an event of the user's own are not reported. Idempotent.
 */
export async function resetPlaces(
  client: PoolClient,
  tenants: readonly { tenantNo: number; atMs: number }[],
): Promise<void> {
  if (tenants.length === 0) return;
  const tenantNos = tenants.map(({ tenantNo }) => tenantNo);
  // Boards first, as where they are forgotten with their places: no two transactions wait for each other.
  await client.query(
    `UPDATE notification_boards AS board SET compare_ms = least(compare_ms, end_ms)
       FROM unnest($1::int[], $2::bigint[]) AS ended (tenant_no, end_ms) WHERE board.tenant_no = ended.tenant_no`,
    [tenantNos, tenants.map(({ atMs }) => windowEndMs(atMs))],
  );
  await client.query('DELETE FROM notification_places WHERE tenant_no = ANY ($1)', [tenantNos]);
}
