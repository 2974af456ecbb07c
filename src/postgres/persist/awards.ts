import type { PoolClient } from 'pg';
import { BinaryRows, copyRows } from './binary-rows.ts';

export interface AwardRow {
  /** 32 hex digits: the event's ID, with the award's ordinal in the last four. */
  id: string;
  tenantNo: number;
  userId: string;
  systemNo: number;
  triggerNo: number;
  awarded: number;
  /** The system's total after this award. */
  total: number;
  boostNos: readonly number[];
  atMs: number;
  localDay: number;
  /** Version of the catalog; `null` if not recorded. */
  catalogVersion: number | null;
}

const COPY =
  'COPY awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, boost_nos, at, local_date, ' +
  'catalog_version) FROM STDIN (FORMAT binary)';
const COLUMNS = 11;
const BYTES_A_ROW = 150;

/** Adds awards of points. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertAwards(client: PoolClient, awards: readonly AwardRow[]): Promise<void> {
  if (awards.length === 0) return;
  const rows = new BinaryRows(awards.length * BYTES_A_ROW);
  for (const award of awards) {
    rows
      .row(COLUMNS)
      .uuid(award.id)
      .int4(award.tenantNo)
      .text(award.userId)
      .int4(award.systemNo)
      .int4(award.triggerNo)
      .int8(award.awarded)
      .int8(award.total);
    if (award.boostNos.length === 0) rows.null();
    else rows.int4Array(award.boostNos);
    rows.timestamptz(award.atMs).date(award.localDay);
    if (award.catalogVersion === null) rows.null();
    else rows.int8(award.catalogVersion);
  }
  await copyRows(client, COPY, rows.finish());
}
