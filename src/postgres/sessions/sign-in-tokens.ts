import { randomBytes } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { SOVEREIGN } from '../admin-key-rows.ts';
import { keyHash } from '../new-key.ts';

/** Validity of a sign-in link. */
const TOKEN_MS = 15 * 60_000;
const TOKEN_BYTES = 32;

/**
 * Creates a token that starts one session, within a quarter of an hour, for the oldest admin key with full access to the whole organisation. Only its
 * hash is stored. `null` if there is no such key.
 */
export async function makeSignInToken(pool: Pool, nowMs: number): Promise<string | null> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { rowCount } = await pool.query(
    `INSERT INTO sign_in_tokens (hash, key_id, expires_at)
     SELECT $1, id, $2 FROM admin_keys WHERE ${SOVEREIGN} ORDER BY created, id LIMIT 1`,
    [keyHash(token), new Date(nowMs + TOKEN_MS)],
  );
  return rowCount === 0 ? null : token;
}

/** Those hashes (base64url) that belong to unused tokens, which may have expired. */
export async function findSignInTokens(pool: Pool, hashes: readonly string[]): Promise<Buffer[]> {
  const { rows } = await pool.query<{ hash: Buffer }>({
    name: 'find-sign-in-tokens',
    text: 'SELECT hash FROM sign_in_tokens WHERE hash = ANY ($1)',
    values: [hashes.map((hash) => Buffer.from(hash, 'base64url'))],
  });
  return rows.map(({ hash }) => hash);
}

/** Uses up a token and returns its key; `null` if the token was used, has expired or never existed. */
export async function useSignInToken(
  client: PoolClient,
  { token, nowMs }: { token: string; nowMs: number },
): Promise<{ id: string; hash: Buffer } | null> {
  const { rows } = await client.query<{ id: string; hash: Buffer }>(
    `DELETE FROM sign_in_tokens USING admin_keys AS key
      WHERE sign_in_tokens.hash = $1 AND expires_at > $2 AND key.id = key_id RETURNING key.id, key.hash`,
    [keyHash(token), new Date(nowMs)],
  );
  return rows[0] ?? null;
}
