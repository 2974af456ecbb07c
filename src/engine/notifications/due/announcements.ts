import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import {
  endAnnouncedAfter,
  endAnnouncedMs,
  type Notification,
  type NotificationSubject,
  type NotificationType,
  startAnnouncedAfter,
  startAnnouncedMs,
} from '../../../domain/notifications/notification.ts';
import type { Leaderboard, PointsBoost } from '../../../domain/catalog.ts';
import { dayOf, epochDay } from '../../../domain/periods.ts';
import { boardStatus, playedRule } from '../../../domain/runs.ts';
import { finalGroups } from '../../../postgres/boards/final-runs.ts';
import {
  beginProgress,
  endProgress,
  moveNotificationProgress,
  notificationProgress,
  type NotificationProgress,
  type WantingTenant,
} from '../../../postgres/notifications/due.ts';
import { createKeptRuns } from '../../leaderboards/kept-runs.ts';
import { groupsOfRun } from '../../leaderboards/runs.ts';
import { type ScheduledWork, workInPieces } from '../../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { boardPayload, boostPayload } from '../payloads.ts';
import type { BoardRankings } from './board-rankings.ts';
import type { Publisher } from './publisher.ts';

const ANNOUNCED = [
  'leaderboard.started',
  'leaderboard.finished',
  'points.boost_started',
  'points.boost_finished',
] as const satisfies NotificationType[];

/** A start or end to be announced. */
type Announcement = BoardAnnouncement | BoostAnnouncement;

interface BoardAnnouncement {
  type: 'leaderboard.started' | 'leaderboard.finished';
  atMs: number;
  about: NotificationSubject;
  board: Leaderboard;
  /** First day of the run (epoch day). */
  runDay: number;
}

interface BoostAnnouncement {
  type: 'points.boost_started' | 'points.boost_finished';
  atMs: number;
  about: NotificationSubject;
  boost: PointsBoost;
}

/**
 * The next announcements after a time (epoch ms), all for the same time; empty if there are none. Each run of a
 * repeating board has a start and an end. Starts and ends from before the board or boost was created are not announced.
 * Pure.
 * @param wants whether a receiver wants the type about the board or points system
 */
function announcedNext(
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
  const announcements: Announcement[] = [];
  const started = startAnnouncedAfter(rule, sinceMs);
  if (started !== null) {
    const { startDay: runDay } = started;
    announcements.push({ type: 'leaderboard.started', atMs: startAnnouncedMs(runDay), about, board, runDay });
  }
  const ended = endAnnouncedAfter(rule, sinceMs);
  if (ended !== null) {
    const { startDay: runDay, endDay } = ended;
    announcements.push({ type: 'leaderboard.finished', atMs: endAnnouncedMs(endDay), about, board, runDay });
  }
  return announcements;
}

/** Announcements of a boost for all users. A boost for a single user follows that user's days (`personal-boosts.ts`). */
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

/** Number of ranks in the announcement of a run's end. */
const TOP = 10;

interface AnnouncerOptions {
  pool: Pool;
  redis: Redis;
  rankings: BoardRankings;
}

function createAnnouncer({ pool, redis, rankings }: AnnouncerOptions) {
  const finalStandings = createKeptRuns(pool);

  /** The notifications of an announcement. The end of a run with a breakdown has one for each group. */
  async function notifications(compiled: CompiledCatalog, announcement: Announcement): Promise<Notification[]> {
    const { type, atMs, about } = announcement;
    const { tenantNo } = compiled.catalog;
    const notification = (source: string, payload: string): Notification => ({
      type,
      tenantNo,
      userId: null,
      atMs,
      source,
      about,
      payload,
    });
    if ('boost' in announcement) {
      const { boost } = announcement;
      const system = compiled.pointsSystemsById.get(boost.systemId);
      if (system === undefined) return [];
      return [notification(`${boost.no}:${atMs}`, boostPayload(announcement.type, boost, system, atMs))];
    }
    const { board, runDay } = announcement;
    if (announcement.type === 'leaderboard.started') {
      const status = boardStatus(board, epochDay(atMs)) ?? 'scheduled';
      const at = { compiled, board, runDay, group: '' };
      return [notification(`${board.no}:${runDay}`, boardPayload(announcement.type, at, status, []))];
    }
    const finished: Notification[] = [];
    for (const group of await groups(board, tenantNo, runDay)) {
      const rankings = await top(board, { tenantNo, runDay, group });
      const at = { compiled, board, runDay, group };
      const payload = boardPayload(announcement.type, at, 'finished', rankings);
      const place = { boardNo: board.no, runDay, group };
      finished.push({ ...notification(`${board.no}:${runDay}:${group}`, payload), place });
    }
    return finished;
  }

  /** The groups of a run whose ends are announced separately. */
  async function groups(board: Leaderboard, tenantNo: number, runDay: number): Promise<string[]> {
    if (board.breakdownAttributes.length === 0) return [''];
    const run = { tenantNo, boardNo: board.no, runDay };
    const ofFinalRun = await finalGroups(pool, run);
    if (ofFinalRun.length > 0) return ofFinalRun;
    return rankings.whole(pool, tenantNo, () => groupsOfRun(redis, board, run));
  }

  /** The best members of a run, from its final standings, or the live ones until those exist. */
  async function top(board: Leaderboard, { tenantNo, ...place }: { tenantNo: number; runDay: number; group: string }) {
    const run = { tenantNo, boardNo: board.no, runDay: place.runDay };
    const ofFinalRun = await finalStandings.standings(run, place.group);
    const standings = ofFinalRun ?? rankings.standings({ board }, { tenantNo, ...place });
    return rankings.whole(pool, tenantNo, async () =>
      rankings.rankings({ tenantNo, board, runDay: place.runDay }, await rankings.places(standings, TOP)),
    );
  }

  return { notifications };
}

interface AnnouncementsOptions {
  publisher: Publisher;
  redis: Redis;
  rankings: BoardRankings;
  onFailed?: OnPieceFailed;
}

const KIND = 'announcements';
/** How often a tenant's progress advances without announcements; later webhooks look back no further. */
const MOVED_EVERY_MS = 3_600_000;

interface Next {
  progress: NotificationProgress;
  compiled: CompiledCatalog;
  announcements: Announcement[];
}

/**
 * Announces starts and ends of leaderboards and boosts, and of each run of a repeating board: at 10:00 UTC on the day
 * before, and at 13:00 UTC on the day after. The transaction that stores a tenant's messages also advances the tenant's
 * progress row. A tenant that fails is set aside; the others go on.
 */
export function createAnnouncements(options: AnnouncementsOptions): ScheduledWork {
  const { publisher, onFailed } = options;
  const announcer = createAnnouncer({ ...options, pool: publisher.pool });
  const pieces = new Pieces({ kind: 'announced starts and ends', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const { pool } = publisher;
    const wanting = byTenant(await publisher.wanting(ANNOUNCED));
    const progress = await notificationProgress(pool, [KIND]);
    await endProgress(
      pool,
      progress.filter(({ tenantNo }) => !wanting.has(tenantNo)),
    );
    const known = new Set(progress.map(({ tenantNo }) => tenantNo));
    const begun = [...wanting.values()].filter(({ tenantNo }) => !known.has(tenantNo));
    await beginProgress(
      pool,
      begun.map(({ tenantNo, sinceMs }) => ({ tenantNo, kind: KIND, zone: '', doneMs: Math.min(sinceMs, upToMs) })),
    );
    // Before the search: a tenant that is set aside during it, and no longer afterwards, was not searched.
    const searched = progress.filter((row) => isFollowed(row, wanting));
    const isAsBefore = begun.length === 0 && progress.length === wanting.size;
    const next = isAsBefore ? await nextOf(wanting, progress) : await nextOfTenants();
    const dueMs = firstOf(next, upToMs);
    if (dueMs === null)
      for (const row of searched)
        if (upToMs - row.doneMs > MOVED_EVERY_MS && !publisher.isUnreadable(row.tenantNo))
          await moveNotificationProgress(pool, row, { doneMs: upToMs, lastUser: '' });
    return dueMs;
  }

  async function upcoming(untilMs: number): Promise<number | null> {
    return firstOf(await nextOfTenants(), untilMs);
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const lastMs = Math.max(dueMs, beforeMs - 1);
    for (const { progress, compiled, announcements } of await nextOfTenants()) {
      const { atMs } = announcements[0]!;
      if (ending.aborted || atMs > lastMs) continue;
      await pieces.attempt(tenantPiece(progress.tenantNo), ending, async () => {
        const notifications: Notification[] = [];
        for (const each of announcements) notifications.push(...(await announcer.notifications(compiled, each)));
        await publisher.publish(compiled, upToMs, async (client) => {
          const moved = await moveNotificationProgress(client, progress, { doneMs: atMs, lastUser: '' });
          return moved ? notifications : null;
        });
      });
    }
  }

  function isFollowed({ tenantNo }: NotificationProgress, wanting: ReadonlyMap<number, WantingTenant>): boolean {
    return wanting.has(tenantNo) && !pieces.isAside(String(tenantNo));
  }

  async function nextOfTenants(): Promise<Next[]> {
    const wanting = byTenant(await publisher.wanting(ANNOUNCED));
    return nextOf(wanting, await notificationProgress(publisher.pool, [KIND]));
  }

  async function nextOf(
    wanting: ReadonlyMap<number, WantingTenant>,
    known: readonly NotificationProgress[],
  ): Promise<Next[]> {
    const upcomingOfTenants: Next[] = [];
    for (const progress of known) {
      const { tenantNo, doneMs } = progress;
      const tenant = wanting.get(tenantNo);
      if (tenant === undefined || !isFollowed(progress, wanting)) continue;
      const compiled = await publisher.catalogIfReadable(tenantNo, tenant.version);
      if (compiled === null) continue;
      const announcements = announcedNext(compiled, doneMs, publisher.wants(compiled, null));
      if (announcements.length > 0) upcomingOfTenants.push({ progress, compiled, announcements });
    }
    return upcomingOfTenants;
  }

  return workInPieces(pieces, { due, upcoming, perform, sharesReads: true });
}

/** The time of the first announcement, if it is not after a time; else `null`. */
function firstOf(next: readonly Next[], untilMs: number): number | null {
  const dueMs = Math.min(...next.map(({ announcements }) => announcements[0]!.atMs));
  return dueMs <= untilMs ? dueMs : null;
}

/** One row for each tenant: since when any of the types is wanted. */
function byTenant(wanting: readonly WantingTenant[]): Map<number, WantingTenant> {
  const earliest = new Map<number, WantingTenant>();
  for (const each of wanting) {
    const known = earliest.get(each.tenantNo);
    if (known === undefined || each.sinceMs < known.sinceMs) earliest.set(each.tenantNo, each);
  }
  return earliest;
}
