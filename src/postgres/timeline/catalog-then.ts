import type { Pool, PoolClient } from 'pg';
import type { Kind } from '../../domain/kinds.ts';

export interface StoredResource {
  id: string;
  no: number;
  kind: Kind;
  createdMs: number;
  updatedMs: number;
  deletedMs: number | null;
  doc: Record<string, unknown>;
  /** Whether a change of it has been recorded. */
  revised: boolean;
}

const COLUMNS = `
  resource.id, resource.no, kind, epoch_ms(created) AS "createdMs", epoch_ms(updated) AS "updatedMs",
  epoch_ms(deleted) AS "deletedMs", resource.doc,
  EXISTS (SELECT FROM catalog_versions AS kept WHERE kept.tenant_no = $1 AND kept.id = resource.id) AS revised`;

/** A tenant's resources by number, and all of some kinds. */
export async function resourcesByNo(
  pool: Pool,
  tenantNo: number,
  nos: readonly number[],
  kinds: readonly Kind[],
): Promise<StoredResource[]> {
  const { rows } = await pool.query<StoredResource>(
    `SELECT ${COLUMNS} FROM catalog_resources AS resource
      WHERE tenant_no = $1 AND (no = ANY ($2::int[]) OR kind = ANY ($3::text[])) ORDER BY no`,
    [tenantNo, nos, kinds],
  );
  return rows;
}

export async function resourcesById(pool: Pool, tenantNo: number, ids: readonly string[]): Promise<StoredResource[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<StoredResource>(
    `SELECT ${COLUMNS} FROM catalog_resources AS resource WHERE tenant_no = $1 AND id = ANY ($2::uuid[])`,
    [tenantNo, ids],
  );
  return rows;
}

/** Which resource formerly had a number that it no longer has. */
export async function renumbered(pool: Pool, tenantNo: number, nos: readonly number[]): Promise<Map<number, string>> {
  if (nos.length === 0) return new Map();
  const { rows } = await pool.query<{ no: number; id: string }>(
    'SELECT DISTINCT no, id FROM catalog_versions WHERE tenant_no = $1 AND no = ANY ($2::int[])',
    [tenantNo, nos],
  );
  return new Map(rows.map(({ no, id }) => [no, id]));
}

/** When a resource was applied: the catalog's version or, if that was not recorded, the time. */
export interface Then {
  version: number | null;
  atMs: number;
}

/** An earlier form of a resource. */
export interface DocThen {
  doc: Record<string, unknown>;
  /** Since when; `null` if unknown. */
  sinceMs: number | null;
}

/** The first form that ended after its application, found by an index. `$2` to `$4`: versions, times and, for resources, IDs. */
const thenStatement = (of: string): string => `
  SELECT kept.doc, epoch_ms(kept.since) AS "sinceMs"
    FROM unnest($2::bigint[], $3::float8[]${of === '' ? '' : ', $4::uuid[]'})
           WITH ORDINALITY AS asked (version, at_ms${of}, n)
    LEFT JOIN LATERAL (
      SELECT doc, since FROM catalog_versions AS version
       WHERE version.tenant_no = $1 AND version.id ${of === '' ? 'IS NULL' : '= asked.id'}
         AND until_version > coalesce(asked.version, -1)
         AND (asked.version IS NOT NULL OR until > to_timestamp(asked.at_ms / 1000))
       ORDER BY until_version LIMIT 1) AS kept ON true
   ORDER BY asked.n`;

interface Row {
  doc: DocThen['doc'] | null;
  sinceMs: number | null;
}

const answers = (rows: readonly Row[]): (DocThen | null)[] => rows.map(({ doc, sinceMs }) => doc && { doc, sinceMs });

/** Forms of resources at given times, in order; `null`: the current one. One index lookup each. */
export async function docsThen(
  pool: Pool | PoolClient,
  tenantNo: number,
  asked: readonly ({ id: string } & Then)[],
): Promise<(DocThen | null)[]> {
  if (asked.length === 0) return [];
  const { rows } = await pool.query<Row>(thenStatement(', id'), [
    ...parametersOf(tenantNo, asked),
    asked.map(({ id }) => id),
  ]);
  return answers(rows);
}

/** The streak settings at given times, likewise. */
export async function streaksThen(pool: Pool, tenantNo: number, moments: readonly Then[]): Promise<(DocThen | null)[]> {
  if (moments.length === 0) return [];
  const { rows } = await pool.query<Row>(thenStatement(''), parametersOf(tenantNo, moments));
  return answers(rows);
}

const parametersOf = (tenantNo: number, moments: readonly Then[]): unknown[] => [
  tenantNo,
  moments.map(({ version }) => version),
  moments.map(({ atMs }) => atMs),
];
