import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import { systemClock, type Clock } from '../clock.ts';
import { APPLICATION_KEY_START, parseApiKey } from '../domain/api-key.ts';
import {
  changeAdminKey,
  changeAdminKeyHash,
  insertAdminKey,
  listAdminKeys,
  lockAdminKeys,
  removeAdminKey,
  type AdminKeyRow,
} from './admin-key-rows.ts';
import { countRevision, type Announce } from './revisions.ts';
import { writeAudit, type AuditEntry } from './audit/write-audit.ts';
import { keyHash, newKey } from './new-key.ts';
import { transaction } from './transaction.ts';

/** A key as it is told once, to who made it or had it made anew. */
export interface CreatedAdminKey extends AdminKeyRow {
  /** `<prefix>.<body>`. */
  key: string;
}

/** Why nothing was done: there is no such key, or it is the last active one. */
export type AdminKeyRefusal = 'unknown' | 'last';

const FIRST_KEY_NAME = 'First key';

/** The stored admin keys. There is always an active one. Every process hears of a change at once. */
export class AdminKeys {
  private readonly pool: Pool;
  private readonly announce: Announce;
  private readonly clock: Clock;

  constructor({ pool, announce, clock = systemClock }: { pool: Pool; announce: Announce; clock?: Clock }) {
    this.pool = pool;
    this.announce = announce;
    this.clock = clock;
  }

  /** Keys, oldest first. */
  list(page: { limit: number; skip: number }): Promise<AdminKeyRow[]> {
    return listAdminKeys(this.pool, page);
  }

  /** Makes a key for each of the names. `who`: the readable part of the key that asks for it, as for all of these. */
  async create(names: readonly string[], who: string): Promise<CreatedAdminKey[]> {
    return this.edit(who, async (client, audit) => {
      const created: CreatedAdminKey[] = [];
      for (const name of names) {
        const made = await insertNew(client, name, this.clock.now());
        created.push(made);
        audit.push({ action: 'create', kind: 'admin_key', id: made.id, name: `${name} (${made.prefix})` });
      }
      return created;
    });
  }

  /** Renames keys, deactivates or activates them, in order; one outcome an item. */
  async update(
    items: readonly { id: string; name?: string; status?: AdminKeyRow['status'] }[],
    who: string,
  ): Promise<(AdminKeyRow | AdminKeyRefusal)[]> {
    return this.edit(who, async (client, audit) => {
      const outcomes: (AdminKeyRow | AdminKeyRefusal)[] = [];
      for (const item of items) {
        const { before, outcome } = await changeAdminKey(client, item);
        outcomes.push(outcome);
        if (typeof outcome === 'string' || before === null) continue;
        const { name, status, id, prefix } = outcome;
        if (before.name === name && before.status === status) continue;
        audit.push({
          action: 'update',
          kind: 'admin_key',
          id,
          name: `${name} (${prefix})`,
          before: { name: before.name, status: before.status },
          after: { name, status },
        });
      }
      return outcomes;
    });
  }

  /** Gives a key another secret; the old one holds nowhere from now on. Null: there is no such key. */
  async rotate(id: string, who: string): Promise<CreatedAdminKey | null> {
    return this.edit(who, async (client, audit) => {
      const { body, hash } = newKey('adm');
      const row = await changeAdminKeyHash(client, { id, hash });
      if (row === null) return null;
      audit.push({ action: 'rotate', kind: 'admin_key', id: row.id, name: `${row.name} (${row.prefix})` });
      return { ...row, key: `${row.prefix}.${body}` };
    });
  }

  /** Deletes keys, in order; the last active one stays. */
  async delete(ids: readonly string[], who: string): Promise<{ deleted: string[]; last: string[] }> {
    return this.edit(who, async (client, audit) => {
      const result: { deleted: string[]; last: string[] } = { deleted: [], last: [] };
      for (const id of ids) {
        const outcome = await removeAdminKey(client, id);
        if (outcome === 'last') result.last.push(id);
        if (typeof outcome === 'string') continue;
        result.deleted.push(id);
        audit.push({ action: 'delete', kind: 'admin_key', id, name: `${outcome.name} (${outcome.prefix})` });
      }
      return result;
    });
  }

  /**
   * Sees to it that there is an admin key. A given one (`<prefix>.<body>`) is stored unless its prefix is known
   * already; without one, a key is made where there is none at all. The key, to be shown once, if it was stored
   * now, else null. Safe to call in many processes at once. Throws for a given key of another form.
   */
  async ensureFirst(given: string | null): Promise<string | null> {
    if (given !== null) return this.ensureGiven(given);
    return transaction(this.pool, async (client) => {
      await lockAdminKeys(client);
      const { rowCount } = await client.query('SELECT FROM admin_keys LIMIT 1');
      return rowCount === 0 ? (await insertNew(client, FIRST_KEY_NAME, this.clock.now())).key : null;
    });
  }

  private async ensureGiven(given: string): Promise<string | null> {
    const parts = parseApiKey(given);
    if (parts === null || parts.prefix.startsWith(APPLICATION_KEY_START))
      throw new Error('An admin key has the form <prefix>.<body>.');
    const { prefix, body } = parts;
    const row = { id: uuid(), prefix, hash: keyHash(body), name: FIRST_KEY_NAME, nowMs: this.clock.now() };
    const stored = await insertAdminKey(this.pool, row);
    return stored === null ? null : given;
  }

  /** Edits follow one another, so that two cannot each leave the other's key as the last one and remove it. */
  private async edit<T>(who: string, work: (client: PoolClient, audit: AuditEntry[]) => Promise<T>): Promise<T> {
    const audit: AuditEntry[] = [];
    const result = await transaction(this.pool, async (client) => {
      await lockAdminKeys(client);
      const done = await work(client, audit);
      await writeAudit(client, { tenantNo: null, nowMs: this.clock.now(), who, entries: audit });
      if (audit.length > 0) await countRevision(client);
      return done;
    });
    if (audit.length > 0) await this.announce('*');
    return result;
  }
}

async function insertNew(client: Pool | PoolClient, name: string, nowMs: number): Promise<CreatedAdminKey> {
  for (;;) {
    const { prefix, key, hash } = newKey('adm');
    const row = await insertAdminKey(client, { id: uuid(), prefix, hash, name, nowMs });
    if (row !== null) return { ...row, key };
  }
}
