import type { PoolClient } from 'pg';
import type { StreakSettings } from '../domain/catalog.ts';

interface Edit {
  tenantNo: number;
  /** The version that the edit creates. */
  version: number;
  now: Date;
}

/** The target of webhooks explains nothing that happened to a user. */
const KEPT = `kind <> 'webhook'`;

/** Stores the previous form of resources, in the transaction that replaces them: one row each, regardless of the catalog's size. */
export async function keepReplaced(
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

/** Stores the streak settings that an edit replaces, in its transaction. */
export async function keepStreaks(
  client: PoolClient,
  { tenantNo, version, now, was }: Edit & { was: StreakSettings },
): Promise<void> {
  await client.query(`INSERT INTO catalog_versions (tenant_no, until_version, until, doc) VALUES ($1, $2, $3, $4)`, [
    tenantNo,
    version,
    now,
    JSON.stringify(was),
  ]);
}
