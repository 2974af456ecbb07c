import type { Pool } from 'pg';
import { type Catalog, emptyCatalog } from '../domain/catalog.ts';
import type { ConfigurationVersion } from '../domain/configuration.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import type { EventSettings, StreakSettings } from '../domain/fields/tenant-settings.ts';
import { DEFAULT_MESSAGE_SETTINGS, type MessageSettings } from '../domain/notifications/message-settings.ts';
import { withDefaults } from '../domain/fields/wire.ts';
import { type Kind, LISTS } from '../domain/kinds.ts';

/** Changes of a version that a list names; the others are only counted. */
const NAMED_CHANGES = 10;

/**
 * The versions of a tenant's configuration that the audit log still has, newest first. Versions are consecutive, so a page costs as many
 * index lookups as it has versions.
 */
export async function configurationVersions(
  pool: Pool,
  tenantNo: number,
  { limit, skip }: { limit: number; skip: number },
): Promise<ConfigurationVersion[]> {
  const { rows } = await pool.query<Omit<ConfigurationVersion, 'at'> & { at: Date }>(
    `SELECT listed.version, made.at, made.who, made.count AS "changeCount", named.changes
       FROM tenants,
            generate_series(catalog_version - $3, greatest(catalog_version - $3 - $2 + 1, 1), -1) AS listed (version),
            LATERAL (SELECT max(at) AS at, max(who) AS who, count(*)::int AS count
                       FROM audit_log WHERE tenant_no = $1 AND version = listed.version) AS made,
            LATERAL (SELECT json_agg(json_build_object('action', action, 'kind', kind, 'name', name) ORDER BY no) AS changes
                       FROM (SELECT * FROM audit_log WHERE tenant_no = $1 AND version = listed.version
                              ORDER BY no LIMIT $4) AS entries) AS named
      WHERE tenants.no = $1 AND made.count > 0
      ORDER BY listed.version DESC`,
    [tenantNo, limit, skip, NAMED_CHANGES],
  );
  return rows.map(({ at, ...version }) => ({ ...version, at: at.toISOString() }));
}

interface Row {
  events: EventSettings | null;
  messages: MessageSettings | null;
  streaks: StreakSettings | null;
  /** `[kind, id, no, created, doc]`; `created` in epoch ms. */
  resources: [Kind, string, number, number, object][];
}

/**
 * A tenant's catalog as a version had it, without webhooks, in one snapshot; `null` if the audit log does not have the version.
 * The state of a resource in a version is the first one that ended later (`catalog_versions`), or else the present one.
 */
export async function loadCatalogOfVersion(pool: Pool, tenantNo: number, version: number): Promise<Catalog | null> {
  const { rows } = await pool.query<Row>(
    `WITH made AS (
       SELECT max(at) AS at FROM audit_log WHERE tenant_no = $1 AND version = $2
     ), later AS (
       SELECT DISTINCT ON (id) id, no, doc FROM catalog_versions
        WHERE tenant_no = $1 AND until_version > $2 AND id IS NOT NULL ORDER BY id, until_version
     ), settings AS (
       SELECT doc, events, messages, until_version FROM catalog_versions WHERE tenant_no = $1 AND until_version > $2 AND id IS NULL
     )
     SELECT coalesce((SELECT doc FROM settings ORDER BY until_version LIMIT 1), streaks) AS streaks,
            coalesce((SELECT events FROM settings WHERE events IS NOT NULL ORDER BY until_version LIMIT 1),
                     event_settings) AS events,
            coalesce((SELECT messages FROM settings WHERE messages IS NOT NULL ORDER BY until_version LIMIT 1),
                     message_settings) AS messages,
            coalesce((
              SELECT json_agg(json_build_array(kind, resource.id, coalesce(later.no, resource.no), epoch_ms(created),
                                               coalesce(later.doc, resource.doc)) ORDER BY created, resource.no)
                FROM catalog_resources AS resource LEFT JOIN later ON later.id = resource.id
               WHERE tenant_no = $1 AND kind <> 'webhook'
                 AND coalesce(created_version <= $2, created <= made.at)
                 AND (deleted IS NULL OR coalesce(deleted_version > $2, deleted > made.at))), '[]') AS resources
       FROM tenants, made WHERE tenants.no = $1 AND made.at IS NOT NULL`,
    [tenantNo, version],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const catalog: Catalog = {
    ...emptyCatalog(tenantNo, version),
    ...(row.events !== null && { events: row.events }),
    ...(row.messages !== null && { messages: { ...DEFAULT_MESSAGE_SETTINGS, ...row.messages } }),
    ...(row.streaks !== null && { streaks: row.streaks }),
  };
  for (const [kind, id, no, created, doc] of row.resources) {
    // As in `loadCatalog`.
    (catalog[LISTS[kind]] as object[]).push({
      ...withDefaults(FIELDS[kind], doc, ''),
      id,
      no,
      created,
      updated: created,
    });
  }
  return catalog;
}
