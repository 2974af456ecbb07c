import type { Leaderboard } from '../../domain/catalog.ts';
import { floorOf, foldOf } from '../../domain/leaderboard.ts';
import { runOf } from '../../domain/runs.ts';
import { LISTS } from '../../domain/kinds.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import { newestIn } from '../lookups.ts';
import type { Plan, PlanBoard } from '../../rules/plan.ts';
import type { NotificationType } from '../../domain/notifications/notification.ts';
import { isWanted } from '../rules/webhook.ts';
import { present } from './parts.ts';

const secondOfDay = (time: string): number =>
  time.split(':').reduce((seconds, part, index) => seconds + Number(part) * [3600, 60, 1][index]!, 0);

/** A board as a plan has it. Events of another metric earn nothing, but move a user whose group has changed. */
export function compileBoard(
  catalogIndex: CatalogIndex,
  board: Leaderboard,
  { metric, days }: { metric: { id: string } | null; days: number[] },
): PlanBoard {
  const runs = days.map((day) => runOf(board, day)?.startDay ?? -1);
  const keptRuns = catalogIndex.catalog.keptRuns?.[board.no] ?? Infinity;
  const groups = board.breakdownAttributes.map((id) => catalogIndex.attributesById.get(id)?.no ?? 0);
  return present<PlanBoard>({
    no: board.no,
    by: board.rankBy === 'metric' && board.metricId !== metric?.id ? 'none' : board.rankBy,
    system: catalogIndex.pointsSystemsById.get(board.pointsSystemId ?? '')?.no,
    fold: foldOf(board) ?? undefined,
    sign: board.order === 'ascending' ? -1 : undefined,
    ties: board.ties === 'first' || undefined,
    secondary: secondaryAttributeOf(catalogIndex, board) ?? undefined,
    floor: floorOf(board) || undefined,
    metadata: board.keepsMetadata === true || undefined,
    max: board.maxParticipants ?? undefined,
    from: board.startTime === null ? undefined : secondOfDay(board.startTime),
    to: board.endTime === null ? undefined : secondOfDay(board.endTime),
    groups: groups.length === 0 ? undefined : groups,
    team: catalogIndex.attributesById.get(board.teamAttributeId ?? '')?.no,
    runs,
    kept: keptRuns < (runs[0] ?? -Infinity) ? keptRuns : undefined,
    // Only for the highest sum do a score and an event's value say what the score was before.
    scores: floorOf(board) !== 0 || isWantedBy(catalogIndex, board, ['leaderboard.rank_changed']) || undefined,
    heard: isWantedBy(catalogIndex, board, ['leaderboard.rank_changed', 'leaderboard.changed']) || undefined,
    leagues: board.leagues === null ? undefined : true,
  });
}

/** The event attribute whose number decides between equal scores; `null` for none. */
export function secondaryAttributeOf(
  { attributesById }: Pick<CatalogIndex, 'attributesById'>,
  { secondaryAttributeId, secondaryOrder }: Leaderboard,
): NonNullable<PlanBoard['secondary']> | null {
  const attribute = attributesById.get(secondaryAttributeId ?? '');
  return attribute === undefined ? null : { key: attribute.key, order: secondaryOrder ?? 'ascending' };
}

const isWantedBy = (
  { catalog }: CatalogIndex,
  { id: leaderboardId }: Leaderboard,
  types: readonly NotificationType[],
): boolean => catalog.webhooks.some((webhook) => types.some((type) => isWanted(webhook, type, { leaderboardId })));

/** Numbers only grow, across all kinds. So a number up to the newest one without a board belongs to no future board. */
export function presentBoards({ catalog }: CatalogIndex): NonNullable<Plan['present']> {
  return {
    newest: Math.max(...Object.values(LISTS).map((list) => newestIn(catalog[list]))),
    boards: Object.fromEntries(catalog.leaderboards.map(({ no }) => [no, true as const])),
  };
}
