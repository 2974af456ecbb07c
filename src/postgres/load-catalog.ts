import type { Pool, PoolClient } from 'pg';
import { emptyCatalog, type Catalog, type EarlierStreaks, type StreakSettings } from '../domain/catalog.ts';
import type { EventSettings } from '../domain/event-settings.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import { withDefaults } from '../domain/fields/wire.ts';
import { LISTS, type Kind } from '../domain/kinds.ts';
import { stillNeeded } from '../domain/streaks-in-force.ts';

interface Row {
  version: number;
  events: EventSettings | null;
  streaks: StreakSettings | null;
  earn_since: number | null;
  streaks_before: EarlierStreaks[];
  swept_day: number | null;
  /** `[kind, id, no, created, updated, doc]`; times in epoch ms. */
  resources: [Kind, string, number, number, number, object][];
}

/** A tenant's existing resources and their version, in one snapshot; `null` if the tenant does not exist. */
export async function loadCatalog(client: Pool | PoolClient, tenantNo: number): Promise<Catalog | null> {
  const { rows } = await client.query<Row>(
    `SELECT catalog_version AS version, event_settings AS events, streaks, earn_since, streaks_before,
            (SELECT min(swept_day) FROM streak_zones WHERE tenant_no = tenants.no) AS swept_day, coalesce((
              SELECT json_agg(json_build_array(kind, id, no,
                       (extract(epoch FROM created) * 1000)::bigint, (extract(epoch FROM updated) * 1000)::bigint, doc) ORDER BY created, no)
                FROM catalog_resources WHERE tenant_no = tenants.no AND deleted IS NULL), '[]') AS resources
       FROM tenants WHERE no = $1`,
    [tenantNo],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const catalog: Catalog = {
    ...emptyCatalog(tenantNo, row.version),
    ...(row.events !== null && { events: row.events }),
    ...(row.streaks !== null && { streaks: row.streaks }),
    ...(row.earn_since !== null && { earnSince: row.earn_since }),
    ...(row.streaks_before.length > 0 && {
      streaksBefore: stillNeeded(row.streaks_before, row.swept_day),
    }),
  };
  for (const [kind, id, no, created, updated, doc] of row.resources) {
    // `saveCatalog` writes the same types. A resource that is older than a field has the field's default.
    (catalog[LISTS[kind]] as object[]).push({ ...withDefaults(FIELDS[kind], doc, ''), id, no, created, updated });
  }
  return catalog;
}
