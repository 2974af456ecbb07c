import type { Pool, PoolClient } from 'pg';
import { columns } from './columns.ts';
import { type Catalog, type EarlierStreaks, emptyCatalog } from '../domain/catalog.ts';
import type { EventSettings, StreakSettings } from '../domain/fields/tenant-settings.ts';
import { DEFAULT_MESSAGE_SETTINGS, kindsOf, type MessageSettings } from '../domain/notifications/message-settings.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import { withDefaults } from '../domain/fields/wire.ts';
import { type Kind, LISTS } from '../domain/kinds.ts';
import { stillNeeded } from '../domain/streaks/streak-settings.ts';
import { NOTIFIED } from './revisions.ts';

interface Row {
  version: number;
  events: EventSettings | null;
  messages: MessageSettings | null;
  streaks: StreakSettings | null;
  earn_since: number | null;
  streaks_before: EarlierStreaks[];
  swept_day: number | null;
  kept_runs: Record<number, number> | null;
  /** `[kind, id, no, created, updated, doc]`; times in epoch ms. */
  resources: [Kind, string, number, number, number, object][];
}

/** A tenant's existing resources and their version, in one snapshot; `null` if the tenant does not exist. */
export async function loadCatalog(client: Pool | PoolClient, tenantNo: number): Promise<Catalog | null> {
  const { rows } = await client.query<Row>({
    name: 'load_catalog',
    text: `SELECT catalog_version AS version, event_settings AS events, message_settings AS messages, streaks, earn_since, streaks_before,
            (SELECT min(swept_day) FROM streak_zones WHERE tenant_no = tenants.no) AS swept_day,
            (SELECT json_object_agg(board_no, run_day) FROM (
              SELECT board_no, min(run_day) AS run_day FROM (
                SELECT board_no, next_run_day AS run_day FROM board_progress
                 WHERE tenant_no = tenants.no AND next_run_day IS NOT NULL
                 UNION ALL
                SELECT board_no, run_day FROM board_runs WHERE tenant_no = tenants.no AND NOT is_cleared) AS run
               GROUP BY board_no) AS oldest) AS kept_runs,
            coalesce((
              SELECT json_agg(json_build_array(kind, id, no,
                       (extract(epoch FROM created) * 1000)::bigint, (extract(epoch FROM updated) * 1000)::bigint, doc) ORDER BY created, no)
                FROM catalog_resources WHERE tenant_no = tenants.no AND deleted IS NULL), '[]') AS resources
       FROM tenants WHERE no = $1`,
    values: [tenantNo],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const catalog: Catalog = {
    ...emptyCatalog(tenantNo, row.version),
    ...(row.events !== null && { events: row.events }),
    ...(row.messages !== null && { messages: { ...DEFAULT_MESSAGE_SETTINGS, ...row.messages } }),
    ...(row.streaks !== null && { streaks: row.streaks }),
    ...(row.earn_since !== null && { earnSince: row.earn_since }),
    ...(row.streaks_before.length > 0 && { streaksBefore: stillNeeded(row.streaks_before, row.swept_day) }),
    ...(row.kept_runs !== null && { keptRuns: row.kept_runs }),
  };
  for (const [kind, id, no, created, updated, doc] of row.resources) {
    // `saveCatalog` writes the same types. A resource that is older than a field has the field's default.
    (catalog[LISTS[kind]] as object[]).push({ ...withDefaults(FIELDS[kind], doc, ''), id, no, created, updated });
  }
  return catalog;
}

export interface ResourceRow {
  id: string;
  no: number;
  kind: Kind;
  parentId: string | null;
  identity: string | null;
  doc: object;
}

interface CatalogChanges {
  tenantNo: number;
  /** The previous version; the changes produce the next one. */
  version: number;
  nextNo: number;
  nowMs: number;
  events: EventSettings;
  /** `null` if they stay; they can be long. */
  messages: MessageSettings | null;
  streaks: StreakSettings;
  /** See `Catalog`. */
  earnSince: number | null;
  streaksBefore: readonly EarlierStreaks[];
  /** The settings before the changes; `null` if all stay. */
  settingsReplaced: Pick<Catalog, 'streaks' | 'events' | 'messages'> | null;
  /** Whether created resources belong to the demo. Updated ones no longer do. */
  demo: boolean;
  created: ResourceRow[];
  updated: ResourceRow[];
  deleted: string[];
}

/** Locks a tenant's catalog for the transaction. Returns the next number; `null` for an unknown tenant. */
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
    await client.query(
      `UPDATE catalog_resources SET deleted = $3, deleted_version = $4 WHERE tenant_no = $1 AND id = ANY($2::uuid[])`,
      [tenantNo, deleted, now, version],
    );
  }
  await keepReplaced(client, { tenantNo, version, ids: updated.map(({ id }) => id), now });
  const { settingsReplaced, messages } = changes;
  if (settingsReplaced !== null) {
    const was = { ...settingsReplaced, messages: messages === null ? null : settingsReplaced.messages };
    await keepSettings(client, { tenantNo, version, now, was });
  }
  if (updated.length > 0) await update(client, tenantNo, updated, now);
  for (const some of pieces(created)) await insert(client, { tenantNo, version, rows: some, now, demo: changes.demo });
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
  if (messages !== null) await replaceMessages(client, tenantNo, messages, now);
  // Last, because the changes of all tenants contend for this row.
  await client.query(`UPDATE organisation SET catalogs_revision = catalogs_revision + 1 RETURNING ${NOTIFIED}`);
  return version;
}

async function replaceMessages(
  client: PoolClient,
  tenantNo: number,
  messages: MessageSettings,
  now: Date,
): Promise<void> {
  await client.query(
    'UPDATE tenants SET message_settings = $2, message_kinds = $3, push_kinds = $4, messages_updated = $5 WHERE no = $1',
    [tenantNo, JSON.stringify(messages), [...kindsOf(messages.templates)], [...kindsOf(messages.pushTemplates)], now],
  );
}

const RESOURCE = columns<Omit<ResourceRow, 'doc'> & { doc: string }>({
  id: 'uuid',
  no: 'int',
  kind: 'text',
  parentId: 'uuid',
  identity: 'text',
  doc: 'jsonb',
});
const resources = (rows: readonly ResourceRow[]): unknown[] =>
  RESOURCE.arrays(rows.map((row) => ({ ...row, doc: JSON.stringify(row.doc) })));

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
        SET no = new.no, identity = new.identity, doc = new.doc, updated = $2, demo = false
       FROM ${RESOURCE.unnest('new', 3)}
      WHERE resource.tenant_no = $1 AND resource.id = new.id`,
    [tenantNo, now, ...resources(rows)],
  );
}

async function insert(
  client: PoolClient,
  { tenantNo, version, rows, now, demo }: Edit & { rows: ResourceRow[]; demo: boolean },
): Promise<void> {
  await client.query(
    RESOURCE.insertInto('catalog_resources', ['tenant_no', 'created', 'updated', 'demo', 'created_version']),
    [tenantNo, now, now, demo, version, ...resources(rows)],
  );
}

interface Edit {
  tenantNo: number;
  /** The version that the edit creates. */
  version: number;
  now: Date;
}

/** The target of webhooks explains nothing that happened to a user. */
const KEPT = `kind <> 'webhook'`;

/** Stores the previous form of resources, in the transaction that replaces them: one row each, regardless of the catalog's size. */
async function keepReplaced(
  client: PoolClient,
  { tenantNo, version, ids, now }: Edit & { ids: readonly string[] },
): Promise<void> {
  if (ids.length === 0) return;
  await client.query(
    `INSERT INTO catalog_versions (tenant_no, id, no, until_version, since, until, doc)
     SELECT tenant_no, id, no, $2, updated, $3, doc
       FROM catalog_resources WHERE tenant_no = $1 AND id = ANY ($4::uuid[]) AND ${KEPT}`,
    [tenantNo, version, now, ids],
  );
}

async function keepSettings(
  client: PoolClient,
  { tenantNo, version, now, was }: Edit & { was: Pick<CatalogChanges, 'streaks' | 'events' | 'messages'> },
): Promise<void> {
  await client.query(
    `INSERT INTO catalog_versions (tenant_no, until_version, until, doc, events, messages) VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      tenantNo,
      version,
      now,
      JSON.stringify(was.streaks),
      JSON.stringify(was.events),
      was.messages === null ? null : JSON.stringify(was.messages),
    ],
  );
}

export async function catalogVersions(pool: Pool, tenantNos: number[]): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ no: number; version: number }>({
    name: 'catalog_versions',
    text: 'SELECT no, catalog_version AS version FROM tenants WHERE no = ANY($1::integer[])',
    values: [tenantNos],
  });
  return new Map(rows.map(({ no, version }) => [no, version]));
}

/** Numbers of a tenant's resources of a kind in ascending order, including deleted ones. */
export async function resourceNumbers(pool: Pool, tenantNo: number, kind: Kind): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    'SELECT no FROM catalog_resources WHERE tenant_no = $1 AND kind = $2 ORDER BY no',
    [tenantNo, kind],
  );
  return rows.map(({ no }) => no);
}

interface DeletedRow {
  kind: Kind;
  id: string;
  no: number;
  created: number;
  updated: number;
  doc: object;
}

/** Deleted resources by number, and the deleted ones that they refer to. */
export async function deletedResources(
  pool: Pool,
  tenantNo: number,
  nos: readonly number[],
): Promise<Pick<Catalog, (typeof LISTS)[Kind]>> {
  const { rows } = await pool.query<DeletedRow>(
    `WITH named AS (
       SELECT * FROM catalog_resources WHERE tenant_no = $1 AND no = ANY ($2) AND deleted IS NOT NULL
     ), referred AS (
       SELECT * FROM catalog_resources
        WHERE tenant_no = $1 AND deleted IS NOT NULL
          AND id::text IN (SELECT doc ->> 'metricId' FROM named UNION SELECT doc ->> 'achievementId' FROM named)
     )
     SELECT kind, id, no, (extract(epoch FROM created) * 1000)::bigint AS created,
            (extract(epoch FROM updated) * 1000)::bigint AS updated, doc
       FROM (SELECT * FROM named UNION ALL SELECT * FROM referred) AS gone`,
    [tenantNo, nos],
  );
  const deleted: Awaited<ReturnType<typeof deletedResources>> = emptyCatalog(tenantNo);
  for (const { kind, id, no, created, updated, doc } of rows) {
    // As in `loadCatalog`.
    (deleted[LISTS[kind]] as object[]).push({ ...doc, id, no, created, updated });
  }
  return deleted;
}

/** IDs of demo resources that nobody has changed since the first start. */
export async function demoResources(client: Pool | PoolClient, tenantNo: number): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM catalog_resources WHERE tenant_no = $1 AND demo AND deleted IS NULL',
    [tenantNo],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Makes all of a tenant's resources the tenant's own. Idempotent. */
export async function endDemo(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('UPDATE catalog_resources SET demo = false WHERE tenant_no = $1 AND demo', [tenantNo]);
}
