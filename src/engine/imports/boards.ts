import type { Leaderboard } from '../../domain/catalog.ts';
import { clamped } from '../../domain/decimal.ts';
import { groupName } from '../../domain/group.ts';
import type { ImportedUser } from '../../domain/imported-user.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { decimalOfMicros, type Micros } from '../../domain/micros.ts';
import { packedScore } from '../../packed/packed-import.ts';
import type { PackedScores } from '../../packed/state.ts';
import { STREAK, USER } from '../../packed/user-fields.ts';
import type { Draft } from './draft.ts';

const MILLION = 1_000_000n;

/**
 * Adds the scores in the runs that are not final, from the daily history, as boards are filled that are activated with a past
 * start. Those of boards with times of day cannot be had from days. Runs that are final stay as they are. A score is in the
 * group that the import names, else in that of the attributes.
 */
export function addScores(draft: Draft, { leaderboards: shown = {} }: ImportedUser): void {
  const { compiled, state, skipped, nowMs } = draft;
  const boards: PackedScores = [];
  for (const board of compiled.catalog.leaderboards.toSorted((a, b) => a.no - b.no)) {
    if (board.status !== 'active' && board.status !== 'finished') continue;
    const scores = [...scoresOn(draft, board)]
      .filter(([runDay, score]) => score !== 0n && !isFinal(board, runDay, nowMs))
      .toSorted(([a], [b]) => b - a);
    if (scores.length === 0) continue;
    if (board.startTime !== null || board.endTime !== null) {
      skipped.push({
        field: `leaderboards.${board.key}`,
        reason: 'its runs start or end at a time of day, and the history has days only',
        days: 0,
      });
      continue;
    }
    const group = groupOf(draft, board, shown[board.key]?.group);
    for (const [runDay, score] of scores)
      boards.push(...packedScore({ boardNo: board.no, runDay, group, ...clamped(decimalOfMicros(score)) }));
  }
  state[USER.boards] = boards;
}

/** What the user's history comes to, by first day (epoch day) of the run. */
function scoresOn({ compiled, days, awards, state, today }: Draft, board: Leaderboard): Map<number, Micros> {
  const rule = playedRule(board);
  const scores = new Map<number, Micros>();
  const add = (day: number, change: Micros): void => {
    const run = runOf(rule, day);
    if (run !== null) scores.set(run.startDay, (scores.get(run.startDay) ?? 0n) + change);
  };
  if (board.rankBy === 'metric') {
    const metric = compiled.metricsById.get(board.metricId ?? '');
    for (const { metricNo, day, change } of days) if (metricNo === metric?.no) add(day, change);
  } else if (board.rankBy === 'points') {
    const system = compiled.pointsSystemsById.get(board.pointsSystemId ?? '');
    for (const { systemNo, day, awarded } of awards) if (systemNo === system?.no) add(day, BigInt(awarded) * MILLION);
  } else {
    const at = ['daily', 'weekly', 'monthly'].indexOf(compiled.catalog.streaks.frequency);
    add(today, BigInt(state[USER.streaks]![at]![STREAK.length]) * MILLION);
  }
  return scores;
}

function isFinal(board: Leaderboard, runDay: number, nowMs: number): boolean {
  const endDay = runOf(playedRule(board), runDay)?.endDay ?? null;
  return endDay !== null && finalMs(endDay) <= nowMs;
}

/** The user's group on a board: '' without breakdown, and of one who lacks a value. */
function groupOf({ compiled, state }: Draft, board: Leaderboard, shown: Record<string, string> = {}): string {
  const attributes = (state[USER.attributes] ?? {}) as Record<number, string>;
  const values = board.breakdownAttributes.map((id) => {
    const attribute = compiled.attributesById.get(id);
    return attribute && (shown[attribute.key] ?? attributes[attribute.no]);
  });
  return values.includes(undefined) ? '' : groupName(values as string[]);
}
