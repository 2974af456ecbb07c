import type { Pool, PoolClient } from 'pg';
import type { KeyRecord } from '../find-key.ts';

/**
 * Admin keys of sessions, by the hashes of the sessions' tokens (base64url), with the session's end as the key's expiry. Omits sessions that do not
 * exist or whose key has another secret since.
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
 * When sessions end (epoch ms), by the hashes of their tokens (base64url). Omits sessions that do not exist or whose key has another secret since.
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

/** Stores a session if its key is active and still has the secret with this hash. Returns the key's prefix, or `null`. */
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

/** Deletes a session. Returns its key's prefix, or `null` if it did not exist. */
export async function deleteSession(client: PoolClient, hash: Buffer): Promise<string | null> {
  const { rows } = await client.query<{ prefix: string }>(
    'DELETE FROM sessions USING admin_keys AS key WHERE sessions.hash = $1 AND key.id = key_id RETURNING prefix',
    [hash],
  );
  return rows[0]?.prefix ?? null;
}

/** Deletes all sessions and sign-in tokens of a key, so that they do not return if the key is activated again. */
export async function deleteSessionsOf(client: PoolClient, keyId: string): Promise<void> {
  await client.query('DELETE FROM sessions WHERE key_id = $1', [keyId]);
  await client.query('DELETE FROM sign_in_tokens WHERE key_id = $1', [keyId]);
}

/** Deletes expired sessions and tokens, except rows that another process is deleting. */
export async function deleteExpired(client: PoolClient, nowMs: number): Promise<void> {
  for (const table of ['sessions', 'sign_in_tokens'])
    await client.query(
      `DELETE FROM ${table} WHERE hash IN (SELECT hash FROM ${table} WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)`,
      [new Date(nowMs)],
    );
}
