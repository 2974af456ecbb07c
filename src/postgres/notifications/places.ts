/** Users' places on leaderboards, as last notified. */
import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { type BoardPlace, windowEndMs } from '../../domain/notifications/notification.ts';

/** A leaderboard's run and group whose ranks must be compared with the known ones. */
export interface MovedBoard extends BoardPlace {
  id: number;
  tenantNo: number;
  /** When the comparison is due (epoch ms). */
  compareMs: number;
}

interface KnownPlace {
  userId: string;
  rank: number;
  value: number;
}

const MOVED = `
  SELECT id, tenant_no AS "tenantNo", board_no AS "boardNo", run_day AS "runDay", group_name AS "group",
         compare_ms AS "compareMs"
    FROM notification_boards AS board
   WHERE compare_ms <= $1 AND tenant_no || ':' || board_no <> ALL ($2)
     AND NOT EXISTS (SELECT FROM jobs
                      WHERE kind = 'leaderboard_filling' AND status IN ('waiting', 'running')
                        AND jobs.tenant_no = board.tenant_no AND (parameters ->> 'boardNo')::int = board.board_no)
   ORDER BY compare_ms, id LIMIT $3`;

/** The next boards due for comparison, except those being filled. `except`: `<tenant no>:<board no>`. */
export async function boardsToCompare(
  pool: Pool,
  upToMs: number,
  except: readonly string[],
  limit: number,
): Promise<MovedBoard[]> {
  const values = [upToMs, except, limit];
  return (await pool.query<MovedBoard>({ name: 'boards_to_compare', text: MOVED, values })).rows;
}

const BOARD = columns<BoardPlace & { tenantNo: number }>({
  tenantNo: 'int',
  boardNo: 'int',
  runDay: 'int',
  group: ['text', 'group_name'],
});
const INSERT_BOARDS = BOARD.insertInto('notification_boards AS board', ['compare_ms']);

export async function followBoards(
  client: PoolClient | Pool,
  boards: readonly (BoardPlace & { tenantNo: number })[],
  compareMs: number,
): Promise<void> {
  if (boards.length > 0)
    await client.query(`${INSERT_BOARDS} ON CONFLICT DO NOTHING`, [compareMs, ...BOARD.arrays(boards)]);
}

/** Claims a leaderboard's comparison for the transaction; false if another process did. */
export async function noteCompared(client: PoolClient, { id, compareMs }: MovedBoard): Promise<boolean> {
  const { rowCount } = await client.query(
    'UPDATE notification_boards SET compare_ms = NULL WHERE id = $1 AND compare_ms = $2',
    [id, compareMs],
  );
  return rowCount === 1;
}

export async function forgetBoard(client: PoolClient | Pool, id: number): Promise<void> {
  await client.query('DELETE FROM notification_boards WHERE id = $1', [id]);
}

export async function forgetBoardsOf(pool: Pool, tenantNos: readonly number[]): Promise<void> {
  if (tenantNos.length === 0) return;
  await pool.query('DELETE FROM notification_boards WHERE tenant_no = ANY ($1)', [tenantNos]);
}

export async function knownPlaces(client: PoolClient, boardId: number): Promise<Map<string, KnownPlace>> {
  const { rows } = await client.query<KnownPlace>(
    'SELECT user_id AS "userId", rank, value FROM notification_places WHERE board_id = $1',
    [boardId],
  );
  return new Map(rows.map((place) => [place.userId, place]));
}

const PLACE = columns<KnownPlace>({ userId: 'text', rank: 'int', value: 'float8' });

/** Writes changed ranks and removes those of users who left the leaderboard. */
export async function savePlaces(
  client: PoolClient,
  { id, tenantNo }: MovedBoard,
  changed: readonly KnownPlace[],
  gone: readonly string[],
): Promise<void> {
  if (gone.length > 0)
    await client.query(
      'DELETE FROM notification_places WHERE tenant_no = $1 AND board_id = $2 AND user_id = ANY ($3)',
      [tenantNo, id, gone],
    );
  if (changed.length === 0) return;
  await client.query(
    `${PLACE.insertInto('notification_places', ['board_id', 'tenant_no'])}
     ON CONFLICT (tenant_no, user_id, board_id) DO UPDATE SET rank = EXCLUDED.rank, value = EXCLUDED.value`,
    [id, tenantNo, ...PLACE.arrays(changed)],
  );
}

/** The values reported to a user about a leaderboard within the current window, and the waiting change. */
export interface ReportedPlace {
  userId: string;
  rank: number | null;
  value: number | null;
  /** Whether a change waits; it leads to `waitingRank`. */
  waits: boolean;
  waitingRank: number | null;
}

/** A leaderboard's open windows, by user. */
export async function reportedPlaces(
  client: PoolClient,
  tenantNo: number,
  subject: string,
  userIds: readonly string[],
): Promise<Map<string, ReportedPlace>> {
  const { rows } = await client.query<ReportedPlace>(
    `SELECT user_id AS "userId", rank, value, payload IS NOT NULL AS waits,
            (payload::json #>> '{leaderboard,rank}')::int AS "waitingRank"
       FROM notification_windows WHERE tenant_no = $1 AND user_id = ANY ($3) AND subject = $2`,
    [tenantNo, subject, userIds],
  );
  return new Map(rows.map((place) => [place.userId, place]));
}

/**
 * Discards the known ranks of tenants' leaderboards and schedules reading them again within 15 minutes of a time (epoch ms),
 * in the client's transaction. Ranks that change until then without an event of the user are not reported. Idempotent.
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

const NOTE = `${INSERT_BOARDS}
  ON CONFLICT (tenant_no, board_no, run_day, text_digest(group_name)) DO UPDATE SET compare_ms = EXCLUDED.compare_ms
   WHERE board.compare_ms IS NULL OR board.compare_ms > EXCLUDED.compare_ms`;

/** Schedules changed boards for comparison within 15 minutes, each once, in the client's transaction. */
export async function noteMovedBoards(
  client: PoolClient,
  moved: readonly (BoardPlace & { tenantNo: number })[],
  nowMs: number,
): Promise<void> {
  if (moved.length > 0) await client.query(NOTE, [windowEndMs(nowMs), ...BOARD.arrays(moved)]);
}
