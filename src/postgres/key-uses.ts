import type { Pool } from 'pg';
import type { KeyRecord } from './find-key.ts';

const TABLES = { admin: 'admin_keys', application: 'application_keys' } as const;
type Kind = keyof typeof TABLES;

/** How long uses are collected before they are written together. */
const WAIT_MS = 250;
/** Most keys that wait. The uses of further keys are ignored until these are written. */
const MOST = 10_000;

/**
 * Writes when keys were last used, with one statement per kind for all uses of a quarter of a second. No request depends on the outcome: a use that
 * cannot be written is forgotten, and the key's next one is recorded.
 */
export class KeyUses {
  private readonly pool: Pool;
  private waiting: Record<Kind, Map<string, number>> = { admin: new Map(), application: new Map() };
  private timer: NodeJS.Timeout | null = null;

  constructor(pool: Pool) {
    this.pool = pool;
  }

  /** Records a use, to be written soon. `atMs`: epoch ms. Costs one entry of a map. */
  note({ kind, id }: Pick<KeyRecord, 'kind' | 'id'>, atMs: number): void {
    const waiting = this.waiting[kind];
    if (waiting.size >= MOST && !waiting.has(id)) return;
    waiting.set(id, atMs);
    this.timer ??= setTimeout(() => void this.flush(), WAIT_MS).unref();
  }

  /** Writes the waiting uses. Never rejects. */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { waiting } = this;
    this.waiting = { admin: new Map(), application: new Map() };
    const kinds = Object.keys(TABLES) as Kind[];
    await Promise.all(kinds.map((kind) => this.write(kind, waiting[kind]).catch(() => undefined)));
  }

  /** Skips rows that another process is writing, which prevents deadlocks. */
  private async write(kind: Kind, uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return;
    const table = TABLES[kind];
    await this.pool.query(
      `WITH free AS (SELECT id FROM ${table} WHERE id = ANY($1::uuid[]) FOR NO KEY UPDATE SKIP LOCKED)
       UPDATE ${table} AS key SET last_used = greatest(key.last_used, to_timestamp(used.at_ms / 1000))
         FROM free JOIN unnest($1::uuid[], $2::float8[]) AS used (id, at_ms) USING (id) WHERE key.id = free.id`,
      [[...uses.keys()], [...uses.values()]],
    );
  }
}
