/**
 * Rows of a merged user of whom there are too many for the transaction that stores the merge. A job (`user_merge`, with `rows`) moves them
 * in slices. The job exists from the merge until its last slice, so a snapshot has either the job or all rows under the remaining user.
 */
import type { Pool, PoolClient } from 'pg';
import { AppError } from '../../errors.ts';
import { sumUsers } from '../persist/day-sums.ts';
import { addJob, type Job } from '../jobs.ts';
import { storableText } from '../storable-json.ts';

/** The user who is gone, and the one who remains. */
export interface Merged {
  tenantNo: number;
  from: string;
  into: string;
}

/** A user with more rows than this in one of the tables is moved by a job. */
const MOST_AT_ONCE = 2_000;
const SLICE = 2_000;
/** How long a slice waits for a row that is being stored. The persister must not wait for a slice, nor be ended by a deadlock. */
const LOCK_WAIT_MS = 100;

type MovedTable = 'event_days' | 'award_days' | 'events' | 'awards' | 'webhook_messages';

/** In the order in which they are moved: sums of days first, from which the history of such users is read. With the index by user. */
const TABLES: Readonly<Record<MovedTable, readonly (readonly [column: string, type: string])[]>> = {
  event_days: [
    ['attributes_hash', 'bytea'],
    ['metric_no', 'int'],
    ['local_date', 'date'],
  ],
  award_days: [
    ['system_no', 'int'],
    ['local_date', 'date'],
  ],
  events: [
    ['metric_no', 'int'],
    ['local_date', 'date'],
    ['id', 'uuid'],
  ],
  awards: [
    ['system_no', 'int'],
    ['id', 'uuid'],
  ],
  webhook_messages: [['sequence', 'bigint']],
};
const NAMES = Object.keys(TABLES) as MovedTable[];

/** Adds the sums of `from` to those of `into`. `where`: which rows. */
const SUMS = {
  event_days: (where: string): string => `
    WITH gone AS (DELETE FROM event_days WHERE ${where} RETURNING *)
    INSERT INTO event_days AS kept (tenant_no, metric_no, local_date, user_id, attributes_hash, attributes, events, positive, value)
    SELECT tenant_no, metric_no, local_date, $3, attributes_hash, attributes, events, positive, value FROM gone
    ON CONFLICT (tenant_no, user_id, attributes_hash, metric_no, local_date) DO UPDATE
      SET events = kept.events + EXCLUDED.events, positive = kept.positive + EXCLUDED.positive,
          value = kept.value + EXCLUDED.value`,
  award_days: (where: string): string => `
    WITH gone AS (DELETE FROM award_days WHERE ${where} RETURNING *)
    INSERT INTO award_days AS kept (tenant_no, system_no, local_date, user_id, awarded)
    SELECT tenant_no, system_no, local_date, $3, awarded FROM gone
    ON CONFLICT (tenant_no, user_id, system_no, local_date) DO UPDATE SET awarded = kept.awarded + EXCLUDED.awarded`,
};

const OF_FROM = 'tenant_no = $1 AND user_id = $2';

/** The statement that moves rows of a table. Parameters: tenant, `from`, `into`, and those of `where`. */
const moveOf = (table: MovedTable, where: string): string =>
  table === 'event_days' || table === 'award_days'
    ? SUMS[table](where)
    : `UPDATE ${table} SET user_id = $3 WHERE ${where}`;

/** Statements that move all rows of the tables; see `MOVES`. */
export const ROW_MOVES: readonly string[] = [
  ...NAMES.map((table) => moveOf(table, OF_FROM)),
  // As long as there are rows, their days are not summed again when retention drops them.
  `DELETE FROM summed_users WHERE ${OF_FROM}`,
];

const valuesOf = ({ tenantNo, from, into }: Merged): unknown[] => [tenantNo, storableText(from), storableText(into)];

/** Whether `from` has more rows in one of the tables than one transaction should move. */
export async function hasManyRows(client: PoolClient, merged: Merged): Promise<boolean> {
  const many = NAMES.map((table) => `EXISTS (SELECT FROM ${table} WHERE ${OF_FROM} OFFSET ${MOST_AT_ONCE})`);
  const { rows } = await client.query<{ many: boolean }>(
    `SELECT ${many.join(' OR ')} AS many`,
    valuesOf(merged).slice(0, 2),
  );
  return rows[0]!.many;
}

/** Begins the move of the rows, in the transaction that stores the merge. Both users get sums of their days, which can be added. */
export async function addRowMove(client: PoolClient, merged: Merged & { id: string }): Promise<void> {
  const { id, tenantNo, from, into } = merged;
  const { rows } = await client.query<{ id: string }>(
    'SELECT user_id AS id FROM summed_users WHERE tenant_no = $1 AND user_id = ANY ($2)',
    [tenantNo, valuesOf(merged).slice(1)],
  );
  const summed = new Set(rows.map((row) => row.id));
  const others = [from, into].filter((userId) => !summed.has(storableText(userId)));
  await sumUsers(
    client,
    others.map((userId) => ({ tenantNo, userId })),
    0,
  );
  // The users are in `result`, because logs have the parameters of jobs.
  await addJob(client, { kind: 'user_merge', id, tenantNo, parameters: { rows: true }, result: { from, into } });
}

/** A job that moves rows. The other jobs of the kind are merges across shards (`merge-jobs.ts`). */
export type RowMoveJob = Job<{ rows: true }, { from: string; into: string }> & { tenantNo: number };

export const isRowMove = (job: Job): job is RowMoveJob => 'rows' in job.parameters;

/** Moves the next rows of the job, in the transaction that records the slice. Returns how many; 0 when all are moved, without the job. */
export async function moveNextRows(client: PoolClient, { no, tenantNo, result }: RowMoveJob): Promise<number> {
  await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  const merged = { tenantNo, ...result };
  for (const table of NAMES) {
    const moved = await moveSome(client, merged, table);
    if (moved > 0) return moved;
  }
  await client.query(ROW_MOVES.at(-1)!, valuesOf(merged).slice(0, 2));
  await client.query('DELETE FROM jobs WHERE no = $1', [no]);
  return 0;
}

/** Finds the rows by a range of the index by user, because an ID alone would be searched in all partitions. */
async function moveSome(client: PoolClient, merged: Merged, table: MovedTable): Promise<number> {
  const order = TABLES[table];
  const columns = order.map(([column]) => column).join(', ');
  const { rows } = await client.query<Record<string, string>>(
    `SELECT ${order.map(([column]) => `${column}::text`).join(', ')} FROM ${table} WHERE ${OF_FROM}
      ORDER BY ${columns} OFFSET ${SLICE - 1} LIMIT 1`,
    valuesOf(merged).slice(0, 2),
  );
  const last = rows[0];
  const upTo = order.map(([, type], at) => `$${at + 4}::text::${type}`).join(', ');
  const where = last === undefined ? OF_FROM : `${OF_FROM} AND (${columns}) <= (${upTo})`;
  const values = [...valuesOf(merged), ...(last === undefined ? [] : order.map(([column]) => last[column]))];
  return (await client.query(moveOf(table, where), values)).rowCount ?? 0;
}

interface Concerned {
  tenantNo: number;
  /** Absent: all users of the tenant. */
  userId?: string | undefined;
}

const OPEN_MOVE = `FROM jobs WHERE tenant_no = $1 AND kind = 'user_merge' AND parameters ? 'rows'
                AND ($2::text IS NULL OR result ->> 'into' = $2 OR result ->> 'from' = $2)`;
/** Also rows that are being deleted (`row-removals.ts`): a history has none of them. Those of nobody concern only this ID. */
const OPEN = `FROM jobs WHERE tenant_no = $1 AND kind IN ('user_merge', 'user_deletion') AND parameters ? 'rows'
                AND CASE WHEN $2::text IS NOT NULL THEN result ->> 'into' = $2 OR result ->> 'from' = $2
                         ELSE kind = 'user_merge' OR EXISTS (
                           SELECT FROM users WHERE users.tenant_no = $1 AND users.id = result ->> 'from') END`;
const concerning = ({ tenantNo, userId }: Concerned): unknown[] => [
  tenantNo,
  userId === undefined ? null : storableText(userId),
];

/** Whether rows of a user, or of any of a tenant, are still to be moved or deleted. */
export async function hasRowMove(client: Pool | PoolClient, concerned: Concerned): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'has_row_move',
    text: `SELECT ${OPEN} LIMIT 1`,
    values: concerning(concerned),
  });
  return rowCount === 1;
}

/** A user's state, and whether rows are still to be moved to this one, or deleted; `null` for an unknown user. */
export async function storedStateAndMove(
  pool: Pool,
  { tenantNo, userId }: Required<Concerned>,
): Promise<{ state: Buffer; isMoving: boolean } | null> {
  const { rows } = await pool.query<{ state: Buffer; isMoving: boolean }>({
    name: 'stored_state_and_move',
    text: `SELECT state, EXISTS (SELECT ${OPEN}) AS "isMoving" FROM users WHERE tenant_no = $1 AND id = $2`,
    values: concerning({ tenantNo, userId }),
  });
  return rows[0] ?? null;
}

/**
 * Throws 503 while rows of a user, or of any of a tenant, are to be moved or deleted. Call it in the snapshot from which a user is computed: then
 * the rows belong to the state.
 */
export async function requireAllRows(client: PoolClient, concerned: Concerned): Promise<void> {
  if (await hasRowMove(client, concerned))
    throw new AppError('unavailable', 'The history of a merged or deleted user is being moved; try again in a moment.');
}

/** Moves all rows that are still to be moved to or from a user, in the client's transaction: the user is deleted or merged again. */
export async function finishRowMoves(client: PoolClient, concerned: Required<Concerned>): Promise<void> {
  const { rows } = await client.query<{ no: string; from: string; into: string }>(
    `SELECT no, result ->> 'from' AS "from", result ->> 'into' AS into ${OPEN_MOVE} ORDER BY no FOR UPDATE`,
    concerning(concerned),
  );
  for (const { no, from, into } of rows) {
    const values = valuesOf({ tenantNo: concerned.tenantNo, from, into });
    for (const statement of ROW_MOVES)
      await client.query(statement, statement.includes('$3') ? values : values.slice(0, 2));
    await client.query('DELETE FROM jobs WHERE no = $1', [no]);
  }
}
