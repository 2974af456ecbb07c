import type { Pool } from 'pg';
import type { KeyRecord } from './find-key.ts';

const TABLES = { admin: 'admin_keys', application: 'application_keys' } as const;
type Kind = keyof typeof TABLES;

/** How long a use waits to be written together with others. */
const WAIT_MS = 250;
/** So many keys wait at most; the uses of others are not noted until they are written. */
const MOST = 10_000;

/**
 * Writes when keys were last used: all that were used in a quarter of a second in one statement for each kind. What
 * becomes of that concerns no request: a use that cannot be written is forgotten, and the key's next one is noted.
 */
export class KeyUses {
  private readonly pool: Pool;
  private waiting: Record<Kind, Map<string, number>> = { admin: new Map(), application: new Map() };
  private timer: NodeJS.Timeout | null = null;

  constructor(pool: Pool) {
    this.pool = pool;
  }

  /** Notes a use, to be written soon. `atMs`: epoch ms. Costs one entry of a map. */
  note({ kind, id }: Pick<KeyRecord, 'kind' | 'id'>, atMs: number): void {
    const waiting = this.waiting[kind];
    if (waiting.size >= MOST && !waiting.has(id)) return;
    waiting.set(id, atMs);
    this.timer ??= setTimeout(() => void this.flush(), WAIT_MS).unref();
  }

  /** Writes what waits. Never rejects. */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { waiting } = this;
    this.waiting = { admin: new Map(), application: new Map() };
    const kinds = Object.keys(TABLES) as Kind[];
    await Promise.all(kinds.map((kind) => this.write(kind, waiting[kind]).catch(() => undefined)));
  }

  /** A row that another process is writing is left out, so that no two processes wait for each other. */
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
