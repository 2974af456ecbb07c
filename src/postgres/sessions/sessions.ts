import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import { parseApiKey } from '../../domain/api-key.ts';
import type { Author } from '../../domain/author.ts';
import { writeAudit } from '../audit/write-audit.ts';
import { keyLookup, type KeyRecord } from '../find-key.ts';
import { GatheredLookup } from '../gathered-lookup.ts';
import { keyHash } from '../new-key.ts';
import { countRevision, type Announce } from '../revisions.ts';
import { transaction } from '../transaction.ts';
import { csrfTokenOf } from './csrf-token.ts';
import { deleteExpired, deleteSession, insertSession } from './session-rows.ts';
import { findSignInTokens, useSignInToken } from './sign-in-tokens.ts';

/** A new session, as the client sees it once. */
export interface NewSession {
  /** Secret in the cookie. Only its hash is stored. */
  token: string;
  csrfToken: string;
  expiresMs: number;
  /** Readable part of the session's key. */
  prefix: string;
}

/** Sign-in by admin key, or by the token in the link that the start prints. */
export type Credential = { key: string } | { token: string };

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
    this.nowMs = options.nowMs ?? Date.now;
    this.keys = keyLookup(this.pool);
    this.tokens = new GatheredLookup(
      (hashes) => findSignInTokens(this.pool, hashes),
      (hash) => hash.toString('base64url'),
    );
  }

  /** Starts a session. `null` if the key is not an active admin key, or the token was used or has expired. `by`: origin of the request. */
  async begin(credential: Credential, by: Author): Promise<NewSession | null> {
    const ofKey = 'key' in credential ? await this.activeKey(credential.key) : null;
    if ('key' in credential && ofKey === null) return null;
    if ('token' in credential && (await this.tokens.find(keyHash(credential.token).toString('base64url'))) === null)
      return null;
    return transaction(this.pool, async (client) => {
      const nowMs = this.nowMs();
      const key = 'token' in credential ? await useSignInToken(client, { token: credential.token, nowMs }) : ofKey;
      if (key === null) return null;
      await deleteExpired(client, nowMs);
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const expiresMs = nowMs + SESSION_MS;
      const session = { hash: keyHash(token), keyId: key.id, keyHash: key.hash, nowMs, expiresMs };
      const prefix = await insertSession(client, session);
      if (prefix === null) return null;
      await this.note(client, { action: 'create', by, prefix });
      return { token, csrfToken: csrfTokenOf(token), expiresMs, prefix };
    });
  }

  /** Ends a session; every process knows within a second. `hash`: hash of its token. No effect if it has already ended. */
  async end(hash: Buffer, by: Author): Promise<void> {
    const ended = await transaction(this.pool, async (client) => {
      const prefix = await deleteSession(client, hash);
      if (prefix === null) return false;
      await this.note(client, { action: 'delete', by, prefix });
      await countRevision(client);
      return true;
    });
    if (ended) await this.announce('*');
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
    const found = await this.keys.find(parts.prefix);
    const isRight = timingSafeEqual(keyHash(parts.body), found?.hash ?? NO_HASH);
    return found !== null && isRight && found.kind === 'admin' && found.active ? found : null;
  }

  private note(
    client: PoolClient,
    { action, by, prefix }: { action: 'create' | 'delete'; by: Author; prefix: string },
  ): Promise<void> {
    const entries = [{ action, kind: 'session', name: prefix }];
    return writeAudit(client, { tenantNo: null, nowMs: this.clock.now(), by: { ...by, who: prefix }, entries });
  }
}
