import type { PoolClient } from 'pg';
import type { EarlierStreaks, StreakSettings } from '../domain/catalog.ts';
import type { EventSettings } from '../domain/event-settings.ts';
import type { Kind } from '../domain/kinds.ts';
import { keepReplaced, keepStreaks } from './keep-versions.ts';
import { NOTIFIED } from './revisions.ts';

export interface ResourceRow {
  id: string;
  no: number;
  kind: Kind;
  parentId: string | null;
  identity: string | null;
  doc: object;
}

export interface CatalogChanges {
  tenantNo: number;
  /** The previous version; the changes produce the next one. */
  version: number;
  nextNo: number;
  nowMs: number;
  events: EventSettings;
  streaks: StreakSettings;
  /** See `Catalog`. */
  earnSince: number | null;
  streaksBefore: readonly EarlierStreaks[];
  /** The streak settings to be replaced; `null` if they stay. */
  streaksReplaced: StreakSettings | null;
  /** Whether created resources belong to the demo. Updated ones no longer do. */
  demo: boolean;
  created: ResourceRow[];
  updated: ResourceRow[];
  /** IDs. Deletion is soft. */
  deleted: string[];
}

/**
 * Locks a tenant's catalog against other edits for the rest of the transaction. Returns the next resource's number, or `null` if the tenant does
 * not exist.
 */
export async function lockCatalog(client: PoolClient, tenantNo: number): Promise<number | null> {
  const { rows } = await client.query<{ nextNo: number }>(
    'SELECT next_no AS "nextNo" FROM tenants WHERE no = $1 FOR NO KEY UPDATE',
    [tenantNo],
  );
  return rows[0]?.nextNo ?? null;
}

/** Rows per statement. Serialising them blocks the event loop. */
const ROWS_AT_ONCE = 1_000;

const pieces = (rows: ResourceRow[]): ResourceRow[][] =>
  Array.from({ length: Math.ceil(rows.length / ROWS_AT_ONCE) }, (_, at) =>
    rows.slice(at * ROWS_AT_ONCE, (at + 1) * ROWS_AT_ONCE),
  );

/** Writes the changes of a locked catalog. Returns the new version. */
export async function saveCatalog(client: PoolClient, changes: CatalogChanges): Promise<number> {
  const { tenantNo, created, updated, deleted } = changes;
  const now = new Date(changes.nowMs);
  const version = changes.version + 1;
  if (deleted.length > 0) {
    await client.query('UPDATE catalog_resources SET deleted = $3 WHERE tenant_no = $1 AND id = ANY($2::uuid[])', [
      tenantNo,
      deleted,
      now,
    ]);
  }
  await keepReplaced(client, { tenantNo, version, ids: updated.map(({ id }) => id), now });
  if (changes.streaksReplaced !== null)
    await keepStreaks(client, { tenantNo, version, now, was: changes.streaksReplaced });
  if (updated.length > 0) await update(client, tenantNo, updated, now);
  for (const some of pieces(created)) await insert(client, { tenantNo, rows: some, now, demo: changes.demo });
  await client.query(
    `UPDATE tenants SET catalog_version = $2, next_no = $3, streaks = $4, earn_since = $5, streaks_before = $6,
            event_settings = $7
      WHERE no = $1`,
    [
      tenantNo,
      version,
      changes.nextNo,
      JSON.stringify(changes.streaks),
      changes.earnSince,
      JSON.stringify(changes.streaksBefore),
      JSON.stringify(changes.events),
    ],
  );
  // Last, because the changes of all tenants contend for this row.
  await client.query(`UPDATE organisation SET catalogs_revision = catalogs_revision + 1 RETURNING ${NOTIFIED}`);
  return version;
}

async function update(client: PoolClient, tenantNo: number, rows: ResourceRow[], now: Date): Promise<void> {
  const ids = rows.map((row) => row.id);
  // Two resources may swap keys, so old keys are cleared before new ones are set.
  await client.query('UPDATE catalog_resources SET identity = NULL WHERE tenant_no = $1 AND id = ANY($2::uuid[])', [
    tenantNo,
    ids,
  ]);
  for (const some of pieces(rows)) await replace(client, tenantNo, some, now);
}

async function replace(client: PoolClient, tenantNo: number, rows: ResourceRow[], now: Date): Promise<void> {
  await client.query(
    `UPDATE catalog_resources AS resource
        SET no = new.no, identity = new.identity, doc = new.doc::jsonb, updated = $6, demo = false
       FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[]) AS new (id, no, identity, doc)
      WHERE resource.tenant_no = $1 AND resource.id = new.id`,
    [
      tenantNo,
      rows.map((row) => row.id),
      rows.map((row) => row.no),
      rows.map((row) => row.identity),
      rows.map((row) => JSON.stringify(row.doc)),
      now,
    ],
  );
}

async function insert(
  client: PoolClient,
  { tenantNo, rows, now, demo }: { tenantNo: number; rows: ResourceRow[]; now: Date; demo: boolean },
): Promise<void> {
  await client.query(
    `INSERT INTO catalog_resources (tenant_no, created, updated, demo, id, no, kind, parent_id, identity, doc)
     SELECT $1, $2, $2, $9, id, no, kind, parent_id, identity, doc::jsonb
       FROM unnest($3::uuid[], $4::integer[], $5::text[], $6::uuid[], $7::text[], $8::text[])
         AS new (id, no, kind, parent_id, identity, doc)`,
    [
      tenantNo,
      now,
      rows.map((row) => row.id),
      rows.map((row) => row.no),
      rows.map((row) => row.kind),
      rows.map((row) => row.parentId),
      rows.map((row) => row.identity),
      rows.map((row) => JSON.stringify(row.doc)),
      demo,
    ],
  );
}
