import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { type Clock, systemClock } from '../../clock.ts';
import { type Author, parseApiKey } from '../../domain/administration/author.ts';
import { type Announce, countCredentialChange, credentialsMessage } from '../revisions.ts';
import { transaction } from '../transaction.ts';
import { CAN_CREATE_KEYS, GatheredLookup, keyHash, keyLookup, type KeyRecord } from './keys.ts';
import { writeRepeatable } from './audit.ts';

interface NewSession {
  /** Secret in the cookie. Only its hash is stored. */
  token: string;
  csrfToken: string;
  expiresMs: number;
  /** Readable part of the session's key. */
  prefix: string;
}

/** Sign-in by admin key, or by the token in the link that the start prints. */
type Credential = { key: string } | { token: string };

/** A session's key, as the console shows it. */
export interface SessionKey {
  prefix: string;
  name: string;
  access: 'full' | 'read';
  /** The client's own ID of the only tenant that the key gives access to; `null` for all. */
  tenantId: string | null;
}

/** Lifetime of a session, whether used or not. */
const SESSION_MS = 12 * 3_600_000;
const TOKEN_BYTES = 32;
/** Sessions of a key. Another sign-in ends the oldest, so that a holder of a key cannot fill the table. */
const MOST_SESSIONS = 1_000;
// Compared for unknown keys, so that refusing them takes the same time.
const NO_HASH = Buffer.alloc(32);

/** The console's sessions. They use the machine's time, like the browser's cookie, so a test clock ends no session. */
export class Sessions {
  private readonly pool: Pool;
  private readonly announce: Announce;
  private readonly clock: Clock;
  private readonly nowMs: () => number;
  // Anybody can try to sign in, so wrong keys and tokens must cost Postgres little.
  private readonly keys: GatheredLookup<KeyRecord>;
  private readonly tokens: GatheredLookup<Buffer>;

  /** @param options.nowMs the machine's time, epoch ms */
  constructor(options: { pool: Pool; announce: Announce; clock: Clock; nowMs?: () => number }) {
    this.pool = options.pool;
    this.announce = options.announce;
    this.clock = options.clock;
    this.nowMs = options.nowMs ?? (() => systemClock.now());
    this.keys = keyLookup(this.pool);
    this.tokens = new GatheredLookup(
      (hashes) => findSignInTokens(this.pool, hashes),
      (hash) => hash.toString('base64url'),
    );
  }

  /** Starts a session; `null` if the credential is invalid, used or expired. `by`: origin of the request. */
  async begin(credential: Credential, by: Author): Promise<NewSession | null> {
    const ofKey = 'key' in credential ? await this.activeKey(credential.key) : null;
    if ('key' in credential && ofKey === null) return null;
    if ('token' in credential && (await this.tokens.find(sessionName(keyHash(credential.token)))) === null) return null;
    return transaction(this.pool, async (client) => {
      const nowMs = this.nowMs();
      const key = 'token' in credential ? await useSignInToken(client, credential.token, nowMs) : ofKey;
      if (key === null) return null;
      await deleteExpired(client, nowMs);
      await deleteOldest(client, key.id);
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const expiresMs = nowMs + SESSION_MS;
      const session = { hash: keyHash(token), keyId: key.id, keyHash: key.hash, nowMs, expiresMs };
      const prefix = await insertSession(client, session);
      if (prefix === null) return null;
      await this.note(client, 'create', by, prefix);
      return { token, csrfToken: csrfTokenOf(token), expiresMs, prefix };
    });
  }

  async end(hash: Buffer, by: Author): Promise<void> {
    const names = [sessionName(hash)];
    const ended = await transaction(this.pool, async (client) => {
      const prefix = await deleteSession(client, hash);
      if (prefix === null) return false;
      await this.note(client, 'delete', by, prefix);
      await countCredentialChange(client, names);
      return true;
    });
    if (ended) await this.announce(credentialsMessage(names));
  }

  /** The key with this prefix, or `null` if it was deleted. */
  async keyOf(prefix: string): Promise<SessionKey | null> {
    const { rows } = await this.pool.query<SessionKey>(
      `SELECT prefix, name, access, (SELECT customer_id FROM tenants WHERE no = tenant_no) AS "tenantId"
         FROM admin_keys WHERE prefix = $1`,
      [prefix],
    );
    return rows[0] ?? null;
  }

  private async activeKey(text: string): Promise<{ id: string; hash: Buffer } | null> {
    const parts = parseApiKey(text);
    if (parts === null) return null;
    const record = await this.keys.find(parts.prefix);
    const isRight = timingSafeEqual(keyHash(parts.body), record?.hash ?? NO_HASH);
    return record !== null && isRight && record.kind === 'admin' && record.active ? record : null;
  }

  private note(client: PoolClient, action: 'create' | 'delete', by: Author, prefix: string): Promise<void> {
    const entries = [{ action, kind: 'session' as const, name: prefix }];
    return writeRepeatable(client, [{ tenantNo: null, nowMs: this.clock.now(), by: { ...by, who: prefix }, entries }]);
  }
}

/** Admin keys of sessions, by token hash (base64url). Omits sessions whose key has another secret since. */
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

/** When sessions end (epoch ms), by token hash (base64url). Omits sessions whose key has another secret since. */
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

async function insertSession(
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

async function deleteSession(client: PoolClient, hash: Buffer): Promise<string | null> {
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
async function deleteExpired(client: PoolClient, nowMs: number): Promise<void> {
  for (const table of ['sessions', 'sign_in_tokens'])
    await client.query(
      `DELETE FROM ${table} WHERE hash IN (SELECT hash FROM ${table} WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)`,
      [new Date(nowMs)],
    );
}

/** Makes room for a session of a key, except by rows that another process is deleting. */
async function deleteOldest(client: PoolClient, keyId: string): Promise<void> {
  await client.query(
    `DELETE FROM sessions WHERE hash IN (
       SELECT hash FROM sessions
        WHERE hash = ANY (ARRAY (SELECT hash FROM sessions WHERE key_id = $1 ORDER BY created DESC OFFSET $2))
          FOR UPDATE SKIP LOCKED)`,
    [keyId, MOST_SESSIONS - 1],
  );
}

/** Validity of a sign-in link. */
const TOKEN_MS = 15 * 60_000;

/** Creates a sign-in token for the oldest full admin key, valid a quarter of an hour. `null`: no such key. */
export async function makeSignInToken(pool: Pool, nowMs: number): Promise<string | null> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { rowCount } = await pool.query(
    `INSERT INTO sign_in_tokens (hash, key_id, expires_at)
     SELECT $1, id, $2 FROM admin_keys WHERE ${CAN_CREATE_KEYS} ORDER BY created, id LIMIT 1`,
    [keyHash(token), new Date(nowMs + TOKEN_MS)],
  );
  return rowCount === 0 ? null : token;
}

/** Those hashes (base64url) that belong to unused tokens, which may have expired. */
async function findSignInTokens(pool: Pool, hashes: readonly string[]): Promise<Buffer[]> {
  const { rows } = await pool.query<{ hash: Buffer }>({
    name: 'find-sign-in-tokens',
    text: 'SELECT hash FROM sign_in_tokens WHERE hash = ANY ($1)',
    values: [hashes.map((hash) => Buffer.from(hash, 'base64url'))],
  });
  return rows.map(({ hash }) => hash);
}

/** Uses up a token and returns its key; `null` if the token was used, has expired or never existed. */
async function useSignInToken(
  client: PoolClient,
  token: string,
  nowMs: number,
): Promise<{ id: string; hash: Buffer } | null> {
  const { rows } = await client.query<{ id: string; hash: Buffer }>(
    `DELETE FROM sign_in_tokens USING admin_keys AS key
      WHERE sign_in_tokens.hash = $1 AND expires_at > $2 AND key.id = key_id RETURNING key.id, key.hash`,
    [keyHash(token), new Date(nowMs)],
  );
  return rows[0] ?? null;
}

/** How a session is named in caches and announcements. */
export const sessionName = (hash: Buffer): string => hash.toString('base64url');

/** The token that a page sends with every change, derived from the session's token and never stored. */
export const csrfTokenOf = (token: string): string => createHmac('sha256', token).update('csrf').digest('base64url');
