import type { Pool, PoolClient } from 'pg';
import type { FailedPart } from '../../domain/dead-letters.ts';
import { storableText } from '../storable-json.ts';

/** An entry of the outbox that is not stored, or not all of it. */
export interface DeadLetter {
  id: string;
  shard: number;
  position: string;
  /** As the entry says; null: it could not be read. */
  tenantNo: number | null;
  parts: FailedPart[];
  reason: string;
  status: 'waiting' | 'stored';
  /** How often it was tried again. */
  tries: number;
  created: Date;
  updated: Date;
}

/** The same with the bytes of the entry (`src/redis/outbox-entry.ts`). */
export interface WholeDeadLetter extends DeadLetter {
  /** Null: stored since, or Redis keeps them. */
  entry: Buffer | null;
  inRedis: boolean;
}

const COLUMNS = 'id, shard, position, tenant_no AS "tenantNo", parts, reason, status, tries, created, updated';
const WHOLE = `${COLUMNS}, entry, in_redis AS "inRedis"`;

export interface NewDeadLetter extends Pick<DeadLetter, 'shard' | 'position' | 'tenantNo' | 'parts' | 'reason'> {
  userIds: string[];
  /** Null: Redis keeps it. */
  entry: Buffer | null;
}

/** Adds one, and counts it; its ID. */
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

/** What a user's ID may hold, jsonb may not. */
const partsJson = (parts: readonly FailedPart[]): string =>
  JSON.stringify(parts.map((part) => (part.user === undefined ? part : { ...part, user: storableText(part.user) })));

export interface LetterQuery {
  limit: number;
  skip: number;
  status?: DeadLetter['status'] | undefined;
}

/** Some of them, oldest first. */
export async function listLetters(pool: Pool, { limit, skip, status }: LetterQuery): Promise<DeadLetter[]> {
  const { rows } = await pool.query<DeadLetter>(
    `SELECT ${COLUMNS} FROM dead_letters WHERE ($3::text IS NULL OR status = $3) ORDER BY created, id LIMIT $1 OFFSET $2`,
    [limit, skip, status ?? null],
  );
  return rows;
}

/** One of them; null: there is none. */
export async function readLetter(client: Pool | PoolClient, id: string): Promise<WholeDeadLetter | null> {
  const { rows } = await client.query<WholeDeadLetter>(`SELECT ${WHOLE} FROM dead_letters WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** Those waiting that name a user of a tenant, or may do so because Redis keeps them; locked. */
export async function lettersAbout(
  client: PoolClient,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<WholeDeadLetter[]> {
  const { rows } = await client.query<WholeDeadLetter>(
    `SELECT ${WHOLE} FROM dead_letters
      WHERE status = 'waiting' AND tenant_no = $1 AND ($2 = ANY (user_ids) OR in_redis) ORDER BY id FOR UPDATE`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

/** Notes that all of it is stored: what it held leaves with that. */
export async function noteStored(client: PoolClient, id: string): Promise<void> {
  await client.query(
    `UPDATE dead_letters SET status = 'stored', entry = NULL, in_redis = false, user_ids = '{}', parts = '[]',
            tries = tries + 1, updated = now() WHERE id = $1`,
    [id],
  );
}

/** Notes what of it could not be stored this time. */
export async function noteTried(client: PoolClient, id: string, parts: readonly FailedPart[]): Promise<void> {
  await client.query(
    'UPDATE dead_letters SET parts = $2, reason = $3, tries = tries + 1, updated = now() WHERE id = $1',
    [id, partsJson(parts), parts[0]!.reason],
  );
}

/** Leaves out a user: of those it names, and of what it holds. */
export async function rewriteLetter(
  client: PoolClient,
  { id, entry, parts, userId }: { id: string; entry: Buffer | null; parts: readonly FailedPart[]; userId: string },
): Promise<void> {
  await client.query(
    'UPDATE dead_letters SET entry = $2, parts = $3, user_ids = array_remove(user_ids, $4), updated = now() WHERE id = $1',
    [id, entry, partsJson(parts), storableText(userId)],
  );
}

/** Removes some; those that there were. */
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

/** How many wait, and how many there ever were. */
export async function countLetters(pool: Pool): Promise<{ waiting: number; ever: number }> {
  const { rows } = await pool.query<{ waiting: number; ever: number }>(
    `SELECT (SELECT count(*)::float8 FROM dead_letters WHERE status = 'waiting') AS waiting,
            (SELECT coalesce(sum(set_aside), 0)::float8 FROM outbox_cursors) AS ever`,
  );
  return rows[0]!;
}
