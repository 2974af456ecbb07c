import type { PoolClient } from 'pg';
import type { BoardPlace } from '../../domain/notification.ts';
import { windowEndMs } from '../../domain/notification-windows.ts';
import { storableText } from '../storable-json.ts';

const NOTE = `
  INSERT INTO notification_boards AS board (tenant_no, board_no, run_day, group_name, compare_ms)
  SELECT moved.*, $1::bigint FROM unnest($2::int[], $3::int[], $4::int[], $5::text[]) AS moved
  ON CONFLICT (tenant_no, board_no, run_day, text_digest(group_name)) DO UPDATE SET compare_ms = EXCLUDED.compare_ms
   WHERE board.compare_ms IS NULL OR board.compare_ms > EXCLUDED.compare_ms`;

/**
 * Schedules leaderboards whose scores changed for comparison within 15 minutes, in the client's transaction. Each may occur only once per call.
 */
export async function noteMovedBoards(
  client: PoolClient,
  moved: readonly (BoardPlace & { tenantNo: number })[],
  nowMs: number,
): Promise<void> {
  if (moved.length === 0) return;
  await client.query(NOTE, [
    windowEndMs(nowMs),
    moved.map(({ tenantNo }) => tenantNo),
    moved.map(({ boardNo }) => boardNo),
    moved.map(({ runDay }) => runDay),
    moved.map(({ group }) => storableText(group)),
  ]);
}
