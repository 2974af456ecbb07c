import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import {
  endAnnouncedAfter,
  endAnnouncedMs,
  startAnnouncedAfter,
  startAnnouncedMs,
} from '../../../domain/announcements.ts';
import type { Leaderboard, PointsBoost } from '../../../domain/catalog.ts';
import type { NotificationSubject, NotificationType } from '../../../domain/notification.ts';
import { dayOf } from '../../../domain/periods.ts';
import { playedRule } from '../../../domain/runs.ts';

/** The types that announce starts and ends at times of the day in UTC. */
export const ANNOUNCED = [
  'leaderboard.started',
  'leaderboard.finished',
  'points.boost_started',
  'points.boost_finished',
] as const satisfies NotificationType[];

/** A start or end that is to be announced. */
export type Announcement = BoardAnnouncement | BoostAnnouncement;

interface BoardAnnouncement {
  type: 'leaderboard.started' | 'leaderboard.finished';
  atMs: number;
  about: NotificationSubject;
  board: Leaderboard;
  /** First day of the run, epoch day. */
  runDay: number;
}

interface BoostAnnouncement {
  type: 'points.boost_started' | 'points.boost_finished';
  atMs: number;
  about: NotificationSubject;
  boost: PointsBoost;
}

/**
 * What is to be announced next after a time (epoch ms): all of the same time; none where nothing is to come. Each run of a
 * repeating board has a start and an end. What was over when the board or boost was made is not made up for. Pure.
 * @param wants whether anybody wants the type, about the board or points system
 */
export function announcedNext(
  { catalog }: Pick<CompiledCatalog, 'catalog'>,
  afterMs: number,
  wants: (type: NotificationType, about: NotificationSubject) => boolean,
): Announcement[] {
  const all = [
    ...catalog.leaderboards.flatMap((board) => ofBoard(board, afterMs)),
    ...catalog.boosts.flatMap((boost) => ofBoost(boost, afterMs)),
  ].filter(({ type, about }) => wants(type, about));
  const atMs = Math.min(...all.map((each) => each.atMs));
  return all.filter((each) => each.atMs === atMs);
}

function ofBoard(board: Leaderboard, afterMs: number): Announcement[] {
  if (board.status === 'inactive') return [];
  const rule = playedRule(board);
  const sinceMs = Math.max(afterMs, board.created);
  const about = { leaderboardId: board.id };
  const found: Announcement[] = [];
  const started = startAnnouncedAfter(rule, sinceMs);
  if (started !== null) {
    const { startDay: runDay } = started;
    found.push({ type: 'leaderboard.started', atMs: startAnnouncedMs(runDay), about, board, runDay });
  }
  const ended = endAnnouncedAfter(rule, sinceMs);
  if (ended !== null) {
    const { startDay: runDay, endDay } = ended;
    found.push({ type: 'leaderboard.finished', atMs: endAnnouncedMs(endDay), about, board, runDay });
  }
  return found;
}

/** Of a boost for everybody: one of a single user goes by that user's days (`personal-boosts.ts`). */
function ofBoost(boost: PointsBoost, afterMs: number): Announcement[] {
  if (boost.userId !== null) return [];
  const about = { pointsSystemId: boost.systemId };
  const all: Announcement[] = [
    { type: 'points.boost_started', atMs: startAnnouncedMs(dayOf(boost.start)), about, boost },
  ];
  if (boost.end !== null)
    all.push({ type: 'points.boost_finished', atMs: endAnnouncedMs(dayOf(boost.end)), about, boost });
  return all.filter(({ atMs }) => atMs > Math.max(afterMs, boost.created));
}
