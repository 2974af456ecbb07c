import type { Pool, PoolClient } from 'pg';
import {
  ANEW,
  BEGUN,
  isPassWaiting,
  listPasses,
  lockPass,
  nextPass,
  notePass,
  type NextPass,
  type PassStep,
  type PassTable,
  type UserPass,
} from '../users/user-pass.ts';

/** A board's filling from history, as it stands. */
export interface BoardFill extends UserPass {
  boardNo: number;
  boardId: string;
  /** First day of the first run that Redis holds; null: all are past. Known from the beginning on. */
  openRunDay: number | null;
  /** Users who have a score by history. */
  scored: number;
}

const TABLE: PassTable = {
  name: 'board_fills',
  no: 'board_no',
  counter: 'scored',
  own: `board_no AS "boardNo", board_id AS "boardId", open_run_day AS "openRunDay", scored::float8`,
};

/** Asks for boards to be filled, from the beginning if they are already; in the edit's transaction. */
export async function requestFills(
  client: PoolClient,
  tenantNo: number,
  boards: readonly { id: string; no: number }[],
): Promise<void> {
  await client.query(
    `INSERT INTO board_fills (tenant_no, board_no, board_id)
     SELECT $1, * FROM unnest($2::integer[], $3::uuid[])
     ON CONFLICT (tenant_no, board_no) DO UPDATE SET open_run_day = NULL, scored = 0, ${ANEW}`,
    [tenantNo, boards.map(({ no }) => no), boards.map(({ id }) => id)],
  );
  await client.query('DELETE FROM board_past_scores WHERE tenant_no = $1 AND board_no = ANY ($2)', [
    tenantNo,
    boards.map(({ no }) => no),
  ]);
}

/** The next one to work on, see `nextPass`. */
export const nextFill = (pool: Pool, next: NextPass): Promise<BoardFill | null> => nextPass(pool, TABLE, next);

/** Whether any is unfinished. */
export const isFillWaiting = (pool: Pool): Promise<boolean> => isPassWaiting(pool, TABLE);

/** Locks one, see `lockPass`. */
export const lockFill = (client: PoolClient, { tenantNo, boardNo: no }: BoardFill): Promise<BoardFill | null> =>
  lockPass(client, TABLE, { tenantNo, no });

/** Begins one: counts the users to be looked at. The first run that is Redis's; null: all are past. */
export async function beginFill(client: PoolClient, { tenantNo, boardNo }: BoardFill): Promise<number | null> {
  const { rows } = await client.query<{ openRunDay: number | null }>(
    `UPDATE board_fills SET ${BEGUN},
            open_run_day = (SELECT next_run_day FROM board_progress WHERE tenant_no = $1 AND board_no = $2)
      WHERE tenant_no = $1 AND board_no = $2 RETURNING open_run_day AS "openRunDay"`,
    [tenantNo, boardNo],
  );
  return rows[0]!.openRunDay;
}

/** Notes what was done of one. */
export const noteFill = (
  client: PoolClient,
  { tenantNo, boardNo: no }: BoardFill,
  { scored: counted, ...step }: PassStep & { scored: number },
): Promise<void> => notePass(client, TABLE, { tenantNo, no }, { ...step, counted });

/** A tenant's fillings, youngest first. */
export const listFills = (pool: Pool, tenantNo: number): Promise<BoardFill[]> => listPasses(pool, TABLE, tenantNo);
