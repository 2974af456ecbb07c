import { randomBytes } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { SOVEREIGN } from '../admin-key-rows.ts';
import { keyHash } from '../new-key.ts';

/** How long a link may wait to be opened. */
const TOKEN_MS = 15 * 60_000;
const TOKEN_BYTES = 32;

/**
 * Makes a token that begins one session of the oldest admin key of full access to the whole organisation, within a quarter of
 * an hour. Only its hash is stored. Null: there is no such key.
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

/** Of hashes (base64url), those of tokens that exist, used by nobody; they may be too old. */
export async function findSignInTokens(pool: Pool, hashes: readonly string[]): Promise<Buffer[]> {
  const { rows } = await pool.query<{ hash: Buffer }>({
    name: 'find-sign-in-tokens',
    text: 'SELECT hash FROM sign_in_tokens WHERE hash = ANY ($1)',
    values: [hashes.map((hash) => Buffer.from(hash, 'base64url'))],
  });
  return rows.map(({ hash }) => hash);
}

/** Uses a token up: the key that it stands for; null: it was used, is too old, or never was one. */
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
