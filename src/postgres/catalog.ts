import { isDeepStrictEqual } from 'node:util';
import type { Pool, PoolClient } from 'pg';
import { columns } from './columns.ts';
import { type Catalog, type EarlierStreaks, emptyCatalog, type Managed } from '../domain/catalog.ts';
import type { EventSettings, StreakSettings } from '../domain/fields/tenant-settings.ts';
import { DEFAULT_MESSAGE_SETTINGS, kindsOf, type MessageSettings } from '../domain/notifications/message-settings.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import { withDefaults } from '../domain/fields/wire.ts';
import { type Kind, LISTS } from '../domain/kinds.ts';
import { stillNeeded } from '../domain/streaks/streak-settings.ts';
import { Slices } from '../pacing/slices.ts';
import { NOTIFIED } from './revisions.ts';

interface TenantRow {
  version: number;
  /** Only what has changed since this version was read; -1: everything. */
  base: number;
  events: EventSettings | null;
  /** `null` also if they have not changed. */
  messages: MessageSettings | null;
  streaks: StreakSettings | null;
  earn_since: number | null;
  streaks_before: EarlierStreaks[];
  swept_day: number | null;
  kept_runs: Record<number, number> | null;
  /** IDs of deleted resources; `null` for none. */
  deleted: string[] | null;
}

/** `[kind, id, no, created, updated, doc]`; times in epoch ms. */
type ReadResource = [Kind, string, number, number, number, object];

/** Resources in a row of the answer, which is parsed at once. */
const READ_AT_ONCE = 16;

// The first row is the tenant's, and each of the others has some resources, all as texts: the caller parses them in slices.
// Without versions, a resource was written by an older process, so it may have changed.
const LOAD = `
  WITH own AS (
    SELECT *, CASE WHEN catalog_version >= $2::bigint THEN $2::bigint ELSE -1 END AS base FROM tenants WHERE no = $1
  ), read AS (
    SELECT kind, id, no, epoch_ms(created) AS created, epoch_ms(updated) AS updated, doc,
           row_number() OVER (ORDER BY created, no) AS place
      FROM catalog_resources, (SELECT base FROM own) AS own
     WHERE tenant_no = $1 AND deleted IS NULL
       AND (base < 0 OR coalesce(created_version > base, true) OR kind = 'webhook'
            OR id IN (SELECT id FROM catalog_versions WHERE tenant_no = $1 AND until_version > $2))
  )
  SELECT 0 AS page, to_json(tenant)::text AS json FROM (
    SELECT catalog_version AS version, base, event_settings AS events, streaks, earn_since, streaks_before,
           CASE WHEN base < 0 OR EXISTS (
                  SELECT FROM catalog_versions
                   WHERE tenant_no = $1 AND id IS NULL AND until_version > base AND messages IS NOT NULL)
                THEN message_settings END AS messages,
           (SELECT min(swept_day) FROM streak_zones WHERE tenant_no = $1) AS swept_day,
           (SELECT json_object_agg(board_no, run_day) FROM (
             SELECT board_no, min(run_day) AS run_day FROM (
               SELECT board_no, next_run_day AS run_day FROM board_progress
                WHERE tenant_no = $1 AND next_run_day IS NOT NULL
                UNION ALL
               SELECT board_no, run_day FROM board_runs WHERE tenant_no = $1 AND NOT is_cleared) AS run
              GROUP BY board_no) AS oldest) AS kept_runs,
           CASE WHEN base >= 0 THEN (
             SELECT json_agg(id) FROM catalog_resources
              WHERE tenant_no = $1 AND deleted IS NOT NULL AND coalesce(deleted_version > base, true)) END AS deleted
      FROM own) AS tenant
  UNION ALL
  SELECT 1 + (place - 1) / ${READ_AT_ONCE}, json_agg(json_build_array(kind, id, no, created, updated, doc) ORDER BY place)::text
    FROM read GROUP BY 1
   ORDER BY page`;

/**
 * A tenant's existing resources and their version, in one snapshot; `null` if the tenant does not exist. Runs in slices.
 * @param known an earlier version: only what has changed since is read, and lists and resources without changes stay the same objects
 */
export async function loadCatalog(
  client: Pool | PoolClient,
  tenantNo: number,
  known?: Catalog,
): Promise<Catalog | null> {
  const { rows } = await client.query<{ json: string }>({
    name: 'load_catalog',
    text: LOAD,
    values: [tenantNo, known?.version ?? -1],
  });
  const [first, ...pages] = rows;
  if (first === undefined) return null;
  const tenant = JSON.parse(first.json) as TenantRow;
  const before = tenant.base < 0 ? undefined : known;
  const catalog: Catalog = {
    ...emptyCatalog(tenantNo, tenant.version),
    ...(tenant.events !== null && { events: tenant.events }),
    ...(before !== undefined && { messages: before.messages }),
    ...(tenant.messages !== null && { messages: { ...DEFAULT_MESSAGE_SETTINGS, ...tenant.messages } }),
    ...(tenant.streaks !== null && { streaks: tenant.streaks }),
    ...(tenant.earn_since !== null && { earnSince: tenant.earn_since }),
    ...(tenant.streaks_before.length > 0 && { streaksBefore: stillNeeded(tenant.streaks_before, tenant.swept_day) }),
    ...(tenant.kept_runs !== null && { keptRuns: tenant.kept_runs }),
  };
  const slices = new Slices();
  for (const { json } of pages) {
    for (const [kind, id, no, created, updated, doc] of JSON.parse(json) as ReadResource[]) {
      // `saveCatalog` writes the same types. A resource that is older than a field has the field's default.
      (catalog[LISTS[kind]] as object[]).push({ ...withDefaults(FIELDS[kind], doc, ''), id, no, created, updated });
    }
    if (slices.over) await slices.turn();
  }
  if (before !== undefined) await addKnown(catalog, before, new Set(tenant.deleted));
  return catalog;
}

/** Adds the resources of an earlier version to a catalog with all that may have changed since. */
async function addKnown(catalog: Catalog, before: Catalog, deleted: ReadonlySet<string>): Promise<void> {
  const slices = new Slices();
  for (const list of Object.values(LISTS)) {
    const known: readonly Managed[] = before[list];
    const changed = new Map((catalog[list] as Managed[]).map((resource) => [resource.id, resource]));
    let isSame = true;
    for (const resource of known) {
      const read = changed.get(resource.id);
      if (read !== undefined && isDeepStrictEqual(read, resource)) changed.delete(resource.id);
      isSame &&= !deleted.has(resource.id);
      if (read !== undefined && slices.over) await slices.turn();
    }
    const left = known.filter(({ id }) => !changed.has(id) && !deleted.has(id));
    (catalog[list] as readonly Managed[]) =
      isSame && changed.size === 0
        ? known
        : [...left, ...changed.values()].sort((a, b) => a.created - b.created || a.no - b.no);
    if (slices.over) await slices.turn();
  }
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
