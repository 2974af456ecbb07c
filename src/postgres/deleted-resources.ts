import type { Pool } from 'pg';
import { LISTS, type Kind } from '../domain/kinds.ts';
import { emptyCatalog, type Catalog } from '../domain/catalog.ts';

interface Row {
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
  const { rows } = await pool.query<Row>(
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
