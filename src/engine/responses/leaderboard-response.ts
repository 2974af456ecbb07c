import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import type { LeaderboardResponse } from '../../domain/leaderboard.ts';
import { groupValues } from '../../domain/group.ts';

/** Keys of a board's breakdown attributes, in their order. */
export const breakdownKeys = (compiled: CompiledCatalog, board: Leaderboard): string[] =>
  board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.key ?? '');

/** The fields that name a group of a board, in the order of its attributes; none without breakdown. */
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

/** A leaderboard as the Application API shows it. */
export function leaderboardResponse(compiled: CompiledCatalog, board: Leaderboard): LeaderboardResponse {
  const metric = board.rankBy === 'metric' ? compiled.metricsById.get(board.metricId ?? '') : undefined;
  const system = board.rankBy === 'points' ? compiled.pointsSystemsById.get(board.pointsSystemId ?? '') : undefined;
  const keys = breakdownKeys(compiled, board);
  return {
    id: board.id,
    name: board.name,
    key: board.key,
    rankBy: board.rankBy,
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
