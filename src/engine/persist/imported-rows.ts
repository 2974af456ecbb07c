import { DAY_MS } from '../../domain/periods.ts';
import { NO_LENGTH } from '../../packed/packed-arrays.ts';
import type { ImportedRecord, RecordedSettlement } from '../../packed/record.ts';
import {
  COMPLETED,
  IMPORTED_AWARD,
  IMPORTED_DAY,
  RECORD,
  RECORDED_TIER,
  SETTLEMENT,
} from '../../packed/record-fields.ts';
import type { PackedPause } from '../../packed/state.ts';
import { PAUSE } from '../../packed/user-fields.ts';
import type { TierRow } from '../../postgres/boards/leagues.ts';
import type { AwardRow } from '../../postgres/persist/events.ts';
import type { ImportedCompletionRow, ImportedDayRow } from '../../postgres/persist/imported.ts';
import type { StreakChangeRow, StreakPauseRow } from '../../postgres/persist/streaks.ts';
import { eventId } from '../ids.ts';
import { decimalOfMicros } from '../../domain/decimal.ts';
import type { UserZone } from '../../postgres/persist/users.ts';

export interface ImportedRows {
  importedDays: ImportedDayRow[];
  importedCompletions: ImportedCompletionRow[];
  importedAwards: AwardRow[];
  /** The users' zones, from the import on. */
  importedZones: UserZone[];
  streakChanges: StreakChangeRow[];
  pauses: StreakPauseRow[];
  importedTiers: TierRow[];
}

const NOON_MS = DAY_MS / 2;

/** Adds the rows of an imported user. Each row's ID carries the time of its subject, which orders reads. */
export function addImported(rows: ImportedRows, tenantNo: number, record: ImportedRecord): void {
  const { [RECORD.userId]: userId, [RECORD.atMs]: atMs } = record;
  for (const each of record[RECORD.days]) {
    const localDay = each[IMPORTED_DAY.day];
    const noonMs = localDay * DAY_MS + NOON_MS;
    rows.importedDays.push({
      id: eventId(noonMs),
      tenantNo,
      userId,
      metricNo: each[IMPORTED_DAY.metric],
      value: decimalOfMicros(BigInt(each[IMPORTED_DAY.change])),
      total: decimalOfMicros(BigInt(each[IMPORTED_DAY.total])),
      atMs: noonMs,
      localDay,
    });
  }
  for (const each of record[RECORD.awards]) {
    rows.importedAwards.push({
      id: eventId(each[IMPORTED_AWARD.atMs]),
      tenantNo,
      userId,
      systemNo: each[IMPORTED_AWARD.system],
      triggerNo: each[IMPORTED_AWARD.trigger],
      awarded: each[IMPORTED_AWARD.awarded],
      total: each[IMPORTED_AWARD.after],
      boostNos: each[IMPORTED_AWARD.boosts],
      atMs: each[IMPORTED_AWARD.atMs],
      localDay: each[IMPORTED_AWARD.day],
      catalogVersion: null,
    });
  }
  for (const each of record[RECORD.completions])
    rows.importedCompletions.push({
      tenantNo,
      userId,
      achievementNo: each[COMPLETED.achievement],
      period: each[COMPLETED.period] ?? 0,
      atMs: each[COMPLETED.atMs],
    });
  for (const each of record[RECORD.settlements]) rows.streakChanges.push(changeOf(each, { tenantNo, userId, atMs }));
  for (const each of record[RECORD.pauses]) rows.pauses.push(pauseRow(each, { tenantNo, userId, atMs }));
  for (const each of record[RECORD.tiers] ?? [])
    rows.importedTiers.push({ tenantNo, userId, boardNo: each[RECORDED_TIER.board], tier: each[RECORDED_TIER.tier] });
  rows.importedZones.push({ tenantNo, zone: record[RECORD.zone], atMs });
}

/** The row of a packed pause of a user, created or changed at `atMs` (epoch ms). */
export const pauseRow = (
  pause: PackedPause,
  user: Pick<StreakPauseRow, 'tenantNo' | 'userId' | 'atMs'>,
): StreakPauseRow => ({ ...user, id: pause[PAUSE.id], fromDay: pause[PAUSE.firstDay], toDay: pause[PAUSE.lastDay] });

const changeOf = (
  settlement: RecordedSettlement,
  { atMs, ...user }: { tenantNo: number; userId: string; atMs: number },
): StreakChangeRow => {
  const length = settlement[SETTLEMENT.length] ?? NO_LENGTH;
  return {
    ...user,
    frequency: settlement[SETTLEMENT.frequency],
    kind: settlement[SETTLEMENT.kind],
    fromDay: settlement[SETTLEMENT.firstDay],
    toDay: settlement[SETTLEMENT.lastDay],
    length: length === NO_LENGTH ? null : length,
    atMs: settlement[SETTLEMENT.atMs] ?? atMs,
    correction: null,
  };
};
