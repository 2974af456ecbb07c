import { secondaryAttributeOf } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import type { LeaderboardResponse } from '../../domain/leaderboard.ts';
import { groupValues } from '../../domain/user.ts';

/** Keys of a board's breakdown attributes, in the board's order. */
export const breakdownKeys = (compiled: CompiledCatalog, board: Leaderboard): string[] =>
  board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.key ?? '');

/** The values that make up a group of a board, by the key of the attribute; empty without a breakdown. */
export function groupAttributes(compiled: CompiledCatalog, board: Leaderboard, group: string): Record<string, string> {
  const values = groupValues(group);
  return Object.fromEntries(breakdownKeys(compiled, board).map((key, at) => [key, values[at] ?? '']));
}

/** The fields that name a group of a board, in the order of the board's attributes; empty without a breakdown. */
export function groupFields(
  compiled: CompiledCatalog,
  board: Leaderboard,
  group: string,
): { breakdownAttributeValue?: string; breakdownAttributeValues?: { key: string; value: string }[] } {
  if (group === '') return {};
  const keys = breakdownKeys(compiled, board);
  const pairs = groupValues(group).map((value, index) => ({ key: keys[index] ?? '', value }));
  return { breakdownAttributeValue: pairs[0]?.value ?? '', breakdownAttributeValues: pairs };
}

export function leaderboardResponse(compiled: CompiledCatalog, board: Leaderboard): LeaderboardResponse {
  const metric = board.rankBy === 'metric' ? compiled.metricsById.get(board.metricId ?? '') : undefined;
  const system = board.rankBy === 'points' ? compiled.pointsSystemsById.get(board.pointsSystemId ?? '') : undefined;
  const keys = breakdownKeys(compiled, board);
  const secondary = secondaryAttributeOf(compiled, board);
  const foldedBy = board.aggregate ?? 'sum';
  return {
    id: board.id,
    name: board.name,
    key: board.key,
    rankBy: board.rankBy,
    ...(foldedBy !== 'sum' && { aggregate: foldedBy }),
    ...(board.order === 'ascending' && { order: board.order }),
    ...(board.ties === 'first' && { ties: board.ties }),
    ...(secondary !== null && { secondaryAttributeKey: secondary.key, secondaryOrder: secondary.order }),
    breakdownAttribute: keys[0] ?? null,
    breakdownAttributes: keys,
    ...(metric !== undefined && { metricKey: metric.key, metricName: metric.name }),
    ...(system !== undefined && { pointsSystemKey: system.key, pointsSystemName: system.name }),
    description: board.description,
    start: board.start,
    end: board.end,
    startTime: board.startTime,
    endTime: board.endTime,
    maxParticipants: board.maxParticipants,
    runUnit: board.runUnit,
    runInterval: board.runInterval,
  };
}
