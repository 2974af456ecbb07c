import type { Pool, PoolClient } from 'pg';
import type { KeyRecord } from '../find-key.ts';

/**
 * The admin keys that sessions stand for, with the end of the session as their own, for the hashes of the sessions' tokens
 * (base64url); without sessions that do not exist, or whose key has another secret by now.
 */
export async function findSessions(pool: Pool, hashes: readonly string[]): Promise<KeyRecord[]> {
  const { rows } = await pool.query<KeyRecord>({
    name: 'find-sessions',
    text: `SELECT key.id, 'admin' AS kind, prefix, sessions.hash, NULL AS "userId", tenant_no AS "tenantNo",
                  status = 'active' AS active, CASE access WHEN 'full' THEN 'all' ELSE access END AS scope,
                  (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresMs",
                  NULL::integer AS "rateLimit", (extract(epoch FROM last_used) * 1000)::float8 AS "usedMs"
             FROM sessions JOIN admin_keys AS key ON key.id = key_id AND key.hash = key_hash
            WHERE sessions.hash = ANY ($1)`,
    values: [hashes.map((hash) => Buffer.from(hash, 'base64url'))],
  });
  return rows;
}

/**
 * When sessions end, epoch ms, by the hashes of their tokens; without those that there are not, or whose key has another secret
 * by now. Hashes are base64url here.
 */
export async function findSessionEnds(pool: Pool, hashes: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ hash: Buffer; expiresMs: number }>({
    name: 'find-session-ends',
    text: `SELECT sessions.hash, (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresMs"
             FROM sessions JOIN admin_keys AS key ON key.id = key_id AND key.hash = key_hash
            WHERE sessions.hash = ANY ($1)`,
    values: [hashes.map((hash) => Buffer.from(hash, 'base64url'))],
  });
  return new Map(rows.map(({ hash, expiresMs }) => [hash.toString('base64url'), expiresMs]));
}

/** Stores a session of a key that is active, and has the secret of this hash still; the key's prefix, or null. */
export async function insertSession(
  client: PoolClient,
  session: { hash: Buffer; keyId: string; keyHash: Buffer; nowMs: number; expiresMs: number },
): Promise<string | null> {
  const { hash, keyId, keyHash, nowMs, expiresMs } = session;
  const { rows } = await client.query<{ prefix: string }>(
    `WITH key AS (SELECT id, hash, prefix FROM admin_keys WHERE id = $2 AND hash = $3 AND status = 'active' FOR SHARE),
          session AS (INSERT INTO sessions (hash, key_id, key_hash, created, expires_at)
                      SELECT $1, id, hash, $4, $5 FROM key)
     SELECT prefix FROM key`,
    [hash, keyId, keyHash, new Date(nowMs), new Date(expiresMs)],
  );
  return rows[0]?.prefix ?? null;
}

/** Deletes a session; its key's prefix, or null where there was none. */
export async function deleteSession(client: PoolClient, hash: Buffer): Promise<string | null> {
  const { rows } = await client.query<{ prefix: string }>(
    'DELETE FROM sessions USING admin_keys AS key WHERE sessions.hash = $1 AND key.id = key_id RETURNING prefix',
    [hash],
  );
  return rows[0]?.prefix ?? null;
}

/** Ends every session of a key, and what could begin one without it: a key that is active again later does not bring them back. */
export async function deleteSessionsOf(client: PoolClient, keyId: string): Promise<void> {
  await client.query('DELETE FROM sessions WHERE key_id = $1', [keyId]);
  await client.query('DELETE FROM sign_in_tokens WHERE key_id = $1', [keyId]);
}

/** Deletes what is over. Rows that another process is deleting are left to it. */
export async function deleteExpired(client: PoolClient, nowMs: number): Promise<void> {
  for (const table of ['sessions', 'sign_in_tokens'])
    await client.query(
      `DELETE FROM ${table} WHERE hash IN (SELECT hash FROM ${table} WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)`,
      [new Date(nowMs)],
    );
}
