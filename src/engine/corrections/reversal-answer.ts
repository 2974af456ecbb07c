import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { EventReversal } from '../../domain/administration/reversal.ts';
import { decimalNumber } from '../../domain/decimal.ts';
import { turned } from '../../domain/leaderboard.ts';
import { dateOf } from '../../domain/periods.ts';
import { uuidText } from '../../domain/schemas.ts';
import {
  COMPLETED,
  RECORD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  REVERSAL,
  SHORTFALL,
} from '../../packed/record-fields.ts';
import type { HappenedRecord, PackedCompletion } from '../../packed/record.ts';
import { decimalOf } from '../../packed/state.ts';
import type { StoredEvent, StoredReversal } from '../../postgres/corrections/reversals.ts';
import type { ScoreChange } from '../../rules/leaderboards.ts';

export function reversalAnswer(
  compiled: CompiledCatalog,
  { record, scores }: { record: HappenedRecord; scores: readonly ScoreChange[] },
  { dryRun, finalRuns }: Pick<EventReversal, 'dryRun' | 'finalRuns'>,
): EventReversal {
  const reversal = record[RECORD.reversal]!;
  const metric = compiled.metricsByNo.get(record[RECORD.metric]!);
  // Lua's MessagePack encodes an empty table as a map.
  const shortfalls = new Map(
    Object.values(reversal[REVERSAL.shortfalls]).map((each) => [each[SHORTFALL.system], each[SHORTFALL.points]]),
  );
  const points = (record[RECORD.points] ?? []).flatMap((changed) => {
    const no = changed[RECORDED_POINTS.system];
    const system = compiled.catalog.pointsSystems.find((each) => each.no === no);
    const total = changed[RECORDED_POINTS.after];
    if (system === undefined) return [];
    return [
      { key: system.key, total, changed: total - changed[RECORDED_POINTS.before], shortfall: shortfalls.get(no) ?? 0 },
    ];
  });
  return {
    status: reversal[REVERSAL.voids] === 1 ? 'reversed' : 'restored',
    dryRun,
    eventId: uuidText(reversal[REVERSAL.root]),
    reversalId: dryRun ? null : uuidText(record[RECORD.id]),
    userId: record[RECORD.userId],
    metricKey: metric?.key ?? null,
    value: decimalNumber(decimalOf(record[RECORD.value]!)),
    total: decimalNumber(decimalOf(record[RECORD.total]!)),
    streak: record[RECORD.streak]![RECORDED_STREAK.length],
    points,
    revokedAchievements: achievementKeys(compiled, reversal[REVERSAL.revoked]),
    restoredAchievements: achievementKeys(compiled, reversal[REVERSAL.restored]),
    leaderboards: changedScores(compiled, scores),
    finalRuns,
  };
}

export function unchangedReversal(
  compiled: CompiledCatalog,
  { root, last, dryRun }: { root: StoredEvent; last: StoredReversal; dryRun: boolean },
): EventReversal {
  const value = Number(root.value);
  return {
    status: 'unchanged',
    dryRun,
    eventId: uuidText(root.id),
    reversalId: uuidText(last.id),
    userId: root.userId,
    metricKey: compiled.metricsByNo.get(root.metricNo)?.key ?? null,
    value: last.inForce ? 0 - value : value,
    total: null,
    streak: null,
    points: [],
    revokedAchievements: [],
    restoredAchievements: [],
    leaderboards: [],
    finalRuns: [],
  };
}

/** The scores before and after, without those that end as they began. */
function changedScores(compiled: CompiledCatalog, scores: readonly ScoreChange[]): EventReversal['leaderboards'] {
  const changed = new Map<string, EventReversal['leaderboards'][number]>();
  for (const { board, runDay, oldScore, score } of scores) {
    const leaderboard = compiled.leaderboardsByNo.get(board.no);
    if (leaderboard === undefined) continue;
    const valueOf = (one: number): number | null => (one <= (board.floor ?? 0) ? null : turned(leaderboard, one));
    const place = `${board.no}:${runDay}`;
    const earlier = changed.get(place);
    const previousValue = earlier === undefined ? valueOf(oldScore) : earlier.previousValue;
    const run = { leaderboardKey: leaderboard.key, start: dateOf(runDay) };
    changed.set(place, { ...run, previousValue, value: valueOf(score) });
  }
  return [...changed.values()].filter(({ previousValue, value }) => previousValue !== value);
}

const achievementKeys = (compiled: CompiledCatalog, completions: readonly PackedCompletion[]): string[] =>
  Object.values(completions).flatMap((each) => {
    const achievement = compiled.achievementsByNo.get(each[COMPLETED.achievement]);
    return achievement === undefined ? [] : [achievement.key ?? achievement.id];
  });
