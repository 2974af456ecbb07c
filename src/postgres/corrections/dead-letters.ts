import type { Pool, PoolClient } from 'pg';
import type { FailedPart } from '../../domain/administration/dead-letters.ts';
import { storableText } from '../storable-json.ts';

export interface DeadLetter {
  id: string;
  shard: number;
  position: string;
  /** The tenant in the entry; `null` if it is unreadable. */
  tenantNo: number | null;
  parts: FailedPart[];
  reason: string;
  status: 'waiting' | 'stored';
  /** Number of retries. */
  tries: number;
  created: Date;
  updated: Date;
}

/** Includes the entry's bytes (`src/redis/outbox.ts`). */
export interface WholeDeadLetter extends DeadLetter {
  /** `null` if they have been stored, or if Redis keeps them. */
  entry: Buffer | null;
  inRedis: boolean;
}

const COLUMNS = 'id, shard, position, tenant_no AS "tenantNo", parts, reason, status, tries, created, updated';
const WHOLE = `${COLUMNS}, entry, in_redis AS "inRedis"`;

export interface NewDeadLetter extends Pick<DeadLetter, 'shard' | 'position' | 'tenantNo' | 'parts' | 'reason'> {
  userIds: string[];
  /** `null` if Redis keeps them. */
  entry: Buffer | null;
}

export async function insertLetter(client: PoolClient, letter: NewDeadLetter): Promise<string> {
  const { shard, position, tenantNo, userIds, entry, parts, reason } = letter;
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO dead_letters (shard, position, tenant_no, user_ids, entry, in_redis, parts, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
    [shard, position, tenantNo, userIds.map(storableText), entry, entry === null, partsJson(parts), reason],
  );
  await client.query('UPDATE outbox_cursors SET set_aside = set_aside + 1 WHERE shard = $1', [shard]);
  return rows[0]!.id;
}

/** User IDs may contain characters that jsonb does not allow. */
const partsJson = (parts: readonly FailedPart[]): string =>
  JSON.stringify(parts.map((part) => (part.user === undefined ? part : { ...part, user: storableText(part.user) })));

export interface LetterQuery {
  limit: number;
  skip: number;
  status?: DeadLetter['status'] | undefined;
}

export async function listLetters(pool: Pool, { limit, skip, status }: LetterQuery): Promise<DeadLetter[]> {
  const { rows } = await pool.query<DeadLetter>(
    `SELECT ${COLUMNS} FROM dead_letters WHERE ($3::text IS NULL OR status = $3) ORDER BY created, id LIMIT $1 OFFSET $2`,
    [limit, skip, status ?? null],
  );
  return rows;
}

export async function readLetter(client: Pool | PoolClient, id: string): Promise<WholeDeadLetter | null> {
  const { rows } = await client.query<WholeDeadLetter>(`SELECT ${WHOLE} FROM dead_letters WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** Waiting dead letters that name a user of a tenant, or might (because Redis keeps them). Locks them. */
export async function lettersAbout(
  client: Pool | PoolClient,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<WholeDeadLetter[]> {
  const { rows } = await client.query<WholeDeadLetter>(
    `SELECT ${WHOLE} FROM dead_letters
      WHERE status = 'waiting' AND tenant_no = $1 AND ($2 = ANY (user_ids) OR in_redis) ORDER BY id FOR UPDATE`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

/** Records that the entry is completely stored, and deletes its contents. */
export async function noteStored(client: PoolClient, id: string): Promise<void> {
  await client.query(
    `UPDATE dead_letters SET status = 'stored', entry = NULL, in_redis = false, user_ids = '{}', parts = '[]',
            tries = tries + 1, updated = now() WHERE id = $1`,
    [id],
  );
}

export async function noteTried(client: PoolClient, id: string, parts: readonly FailedPart[]): Promise<void> {
  await client.query(
    'UPDATE dead_letters SET parts = $2, reason = $3, tries = tries + 1, updated = now() WHERE id = $1',
    [id, partsJson(parts), parts[0]!.reason],
  );
}

/** Removes a user from the entry's contents and from its list of users. */
export async function rewriteLetter(
  client: PoolClient,
  { id, entry, parts, userId }: { id: string; entry: Buffer | null; parts: readonly FailedPart[]; userId: string },
): Promise<void> {
  await client.query(
    'UPDATE dead_letters SET entry = $2, parts = $3, user_ids = array_remove(user_ids, $4), updated = now() WHERE id = $1',
    [id, entry, partsJson(parts), storableText(userId)],
  );
}

export async function deleteLetters(
  client: PoolClient,
  ids: readonly string[],
): Promise<{ id: string; shard: number; position: string; inRedis: boolean }[]> {
  const { rows } = await client.query<{ id: string; shard: number; position: string; inRedis: boolean }>(
    'DELETE FROM dead_letters WHERE id = ANY ($1::uuid[]) RETURNING id, shard, position, in_redis AS "inRedis"',
    [ids],
  );
  return rows;
}

/** Number of waiting dead letters, and of all ever. */
export async function countLetters(pool: Pool): Promise<{ waiting: number; ever: number }> {
  const { rows } = await pool.query<{ waiting: number; ever: number }>(
    `SELECT (SELECT count(*)::float8 FROM dead_letters WHERE status = 'waiting') AS waiting,
            (SELECT coalesce(sum(set_aside), 0)::float8 FROM outbox_cursors) AS ever`,
  );
  return rows[0]!;
}

interface Owed {
  tenantNo: number;
  userIds: readonly string[];
  /** Position of the entry with the states. */
  position: string;
}

/** Records users whose states could not be stored, so that their next ones are written completely. */
export async function noteOwed(client: PoolClient, { tenantNo, userIds, position }: Owed): Promise<void> {
  if (userIds.length === 0) return;
  await client.query('UPDATE users SET owed_position = $3 WHERE tenant_no = $1 AND id = ANY ($2)', [
    tenantNo,
    userIds.map(storableText),
    position,
  ]);
}

/** Those users whose stored state is newer than an entry's, which makes the entry's obsolete. */
export async function supersededUsers(
  client: PoolClient,
  { tenantNo, userIds, position }: Owed,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM users WHERE tenant_no = $1 AND id = ANY ($2) AND owed_position IS DISTINCT FROM $3`,
    [tenantNo, userIds.map(storableText), position],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Positions of the waiting entries that contain a state of a user. */
export async function positionsOwed(client: PoolClient, tenantNo: number, userId: string): Promise<string[]> {
  const id = storableText(userId);
  const { rows } = await client.query<{ position: string }>(
    `SELECT position FROM dead_letters
      WHERE status = 'waiting' AND tenant_no = $1 AND $2 = ANY (user_ids) AND parts @> $3::jsonb`,
    [tenantNo, id, JSON.stringify([{ part: 'state', user: id }])],
  );
  return rows.map(({ position }) => position);
}

export type WaitingEntry = Pick<WholeDeadLetter, 'id' | 'shard' | 'position' | 'parts' | 'entry' | 'inRedis'>;

export async function waitingEntries(pool: Pool, after: string | null, limit: number): Promise<WaitingEntry[]> {
  const { rows } = await pool.query<WaitingEntry>(
    `SELECT id, shard, position, parts, entry, in_redis AS "inRedis" FROM dead_letters
      WHERE status = 'waiting' AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT $2`,
    [after, limit],
  );
  return rows;
}
