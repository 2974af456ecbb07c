import { completedIn } from '../../packed/completed.ts';
import {
  AWARD,
  KIND,
  kindField,
  RECOMPUTATION,
  RECORD,
  RECORDED_POINTS,
  RECORDED_QUEST,
  RECORDED_STREAK,
  REVERSAL,
  SETTLEMENT,
} from '../../packed/record-fields.ts';
import type { HappenedRecord, MergeRecord, RecordedRecomputation, RecordedSettlement } from '../../packed/record.ts';
import { decimalOf } from '../../packed/state.ts';
import type { BalanceChangeRow } from '../../postgres/balance-changes.ts';
import type { RankRewardRow } from '../../postgres/boards/rank-rewards.ts';
import type { AwardRow, CompletionRow, EventRow, ReversalRow } from '../../postgres/persist/events.ts';
import type { RecomputedRow } from '../../postgres/persist/recomputed.ts';
import type { StreakChangeRow, StreakPauseRow, SupersededChanges } from '../../postgres/persist/streaks.ts';
import { awardId } from '../ids.ts';
import { rankRewardOf } from '../leaderboards/reward-record.ts';
import { balanceChangeOf } from '../points/balances.ts';
import { UnreadableEntry } from './about-data.ts';
import { addGuardsOf, type GuardedRows } from './guarded-rows.ts';
import { pauseRow } from './imported-rows.ts';

/** The rows of events, and of what else changed users. */
export interface HappenedRows extends GuardedRows {
  events: EventRow[];
  reversals: ReversalRow[];
  recomputed: RecomputedRow[];
  awards: AwardRow[];
  completions: CompletionRow[];
  streakChanges: StreakChangeRow[];
  supersededChanges: SupersededChanges[];
  pauses: StreakPauseRow[];
  /** IDs of administrators' calls that changed a streak. */
  streakCalls: string[];
  balanceChanges: BalanceChangeRow[];
  rankRewards: RankRewardRow[];
}

/** Fields with changes of streaks. */
const CHANGES = [RECORD.settlements, RECORD.beside, RECORD.repairs, RECORD.superseded] as const;

const HAPPENED: ReadonlySet<string> = new Set([KIND.event, KIND.user, KIND.completion, KIND.streaks, KIND.reversal]);

function reversalOf({ [RECORD.reversal]: reversal }: HappenedRecord, event: ReversalRow['event']): ReversalRow {
  if (reversal === undefined) throw new UnreadableEntry('a reversal lacks a field');
  return {
    event,
    root: reversal[REVERSAL.root],
    reversed: reversal[REVERSAL.reversed],
    voids: reversal[REVERSAL.voids] === 1,
    awards: listOf(reversal[REVERSAL.awards]),
    revoked: listOf(reversal[REVERSAL.revoked]),
    restored: listOf(reversal[REVERSAL.restored]),
  };
}

/** Lua's MessagePack encodes an empty table as a map. */
const listOf = <T>(packed: T[]): T[] => (Array.isArray(packed) ? packed : []);

export function addRecord(rows: HappenedRows, tenantNo: number, record: HappenedRecord): void {
  const kind = record[kindField];
  const userId = record[RECORD.userId];
  const atMs = record[RECORD.atMs];
  const localDay = record[RECORD.day];
  const catalogVersion = record[RECORD.version] ?? null;
  if (!HAPPENED.has(kind)) throw new UnreadableEntry('a record of an unknown kind');
  if (kind === KIND.event || kind === KIND.reversal) {
    const metricNo = record[RECORD.metric];
    const value = record[RECORD.value];
    const total = record[RECORD.total];
    if (metricNo === undefined || value === undefined || total === undefined)
      throw new UnreadableEntry('an event lacks a field');
    const event = {
      id: record[RECORD.id],
      tenantNo,
      userId,
      metricNo,
      value: decimalOf(value),
      total: decimalOf(total),
      atMs,
      occurredMs: record[RECORD.occurredMs] ?? null,
      localDay: record[RECORD.occurredDay] ?? localDay,
      attributes: record[RECORD.attributes] ?? null,
      idempotencyKey: record[RECORD.idempotencyKey] ?? null,
      streak: extendedTo(record),
      catalogVersion,
    };
    if (kind === KIND.event) rows.events.push(event);
    else rows.reversals.push(reversalOf(record, event));
    addGuardsOf(rows, tenantNo, record);
  }
  const balanceChange = balanceChangeOf(tenantNo, record);
  if (balanceChange !== null) rows.balanceChanges.push(balanceChange);
  const reward = rankRewardOf(tenantNo, record);
  if (reward !== null) rows.rankRewards.push(reward);
  if (record[RECORD.byAdmin] === 1) rows.streakCalls.push(record[RECORD.id]);
  for (const { achievementNo, quest } of completedIn(record)) {
    const backdated = record[RECORD.backdated] === 1 || record[RECORD.recomputation] !== undefined;
    rows.completions.push({
      tenantNo,
      userId,
      achievementNo,
      period: quest?.[RECORDED_QUEST.period] ?? 0,
      atMs,
      causedBy: record[RECORD.id],
      catalogVersion,
      backdated,
    });
  }
  const recomputation = record[RECORD.recomputation];
  if (recomputation !== undefined) rows.recomputed.push(recomputedRow(tenantNo, record, recomputation));
  addStreakChanges(rows, tenantNo, record);
  for (const pause of record[RECORD.pauses] ?? []) rows.pauses.push(pauseRow(pause, { tenantNo, userId, atMs }));
  let ordinal = 0;
  for (const points of record[RECORD.points] ?? []) {
    for (const award of points[RECORDED_POINTS.awards]) {
      ordinal += 1;
      rows.awards.push({
        id: awardId(record[RECORD.id], ordinal),
        tenantNo,
        userId,
        systemNo: points[RECORDED_POINTS.system],
        triggerNo: award[AWARD.trigger],
        awarded: award[AWARD.awarded],
        total: award[AWARD.after],
        boostNos: award[AWARD.boosts],
        atMs,
        localDay: award[AWARD.day] ?? localDay,
        catalogVersion,
      });
    }
  }
}

export function addStreakChanges(rows: HappenedRows, tenantNo: number, record: HappenedRecord | MergeRecord): void {
  if (!CHANGES.some((field) => record[field] !== undefined)) return;
  const userId = record[RECORD.userId];
  const add = (settlement: RecordedSettlement, correction: string | null): void => {
    rows.streakChanges.push({
      tenantNo,
      userId,
      frequency: settlement[SETTLEMENT.frequency],
      kind: settlement[SETTLEMENT.kind],
      fromDay: settlement[SETTLEMENT.firstDay],
      toDay: settlement[SETTLEMENT.lastDay],
      length: settlement[SETTLEMENT.length] ?? null,
      atMs: settlement[SETTLEMENT.atMs] ?? record[RECORD.atMs],
      correction,
    });
  };
  for (const settlement of record[RECORD.settlements] ?? []) add(settlement, null);
  for (const settlement of record[RECORD.beside] ?? []) add(settlement, null);
  const correction = record[RECORD.id];
  for (const settlement of record[RECORD.repairs] ?? []) add(settlement, correction);
  const nos = record[RECORD.superseded];
  if (nos !== undefined) rows.supersededChanges.push({ tenantNo, userId, nos, correction });
}

function extendedTo({ [RECORD.streak]: streak }: HappenedRecord): number | null {
  return streak?.[RECORDED_STREAK.extended] === 1 ? streak[RECORDED_STREAK.length] : null;
}

const recomputedRow = (
  tenantNo: number,
  record: HappenedRecord,
  recomputation: RecordedRecomputation,
): RecomputedRow => ({
  id: record[RECORD.id],
  tenantNo,
  userId: record[RECORD.userId],
  job: recomputation[RECOMPUTATION.job],
  reverts: recomputation[RECOMPUTATION.reverts] === 1,
  atMs: record[RECORD.atMs],
  completed: completedIn(record),
  revoked: listOf(recomputation[RECOMPUTATION.revoked]),
  restored: listOf(recomputation[RECOMPUTATION.restored]),
  awards: listOf(recomputation[RECOMPUTATION.awards]),
  skipped: listOf(recomputation[RECOMPUTATION.skipped]),
  scores: listOf(recomputation[RECOMPUTATION.scores] ?? []),
});
