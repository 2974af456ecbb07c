import type { PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';
import { copyRows } from './copy-rows.ts';
import { COPY_NULL, copyText, copyTimestamp } from './copy-text.ts';

export interface AwardRow {
  /** 32 hex digits: the event's, with the award's ordinal in the last four. */
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
  /** Epoch day of the user's local date. */
  localDay: number;
}

const COPY =
  'COPY awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, boost_nos, at, local_date) FROM STDIN';

/** Adds awards of points. An ID that is there already is an error (23505): the cursor says that each is new. */
export async function insertAwards(client: PoolClient, awards: readonly AwardRow[]): Promise<void> {
  if (awards.length === 0) return;
  let rows = '';
  for (const award of awards) {
    const boosts = award.boostNos.length === 0 ? COPY_NULL : `{${award.boostNos.join(',')}}`;
    rows += `${award.id}\t${award.tenantNo}\t${copyText(award.userId)}\t${award.systemNo}\t${award.triggerNo}\t${award.awarded}\t${award.total}\t${boosts}\t${copyTimestamp(award.atMs)}\t${dateOf(award.localDay)}\n`;
  }
  await copyRows(client, COPY, rows);
}
