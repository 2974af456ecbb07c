import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { Notification } from '../../../domain/notifications/notification.ts';
import { epochDay } from '../../../domain/periods.ts';
import { finalMs, playedRule, type Run, runOf } from '../../../domain/runs.ts';
import { boardsInProgress } from '../../../postgres/boards/progress.ts';
import {
  beginProgress,
  endProgress,
  notificationProgress,
  wantingTenants,
} from '../../../postgres/notifications/due.ts';
import {
  boardsToCompare,
  followBoards,
  forgetBoard,
  forgetBoardsOf,
  knownPlaces,
  type MovedBoard,
  noteCompared,
  type ReportedPlace,
  reportedPlaces,
  savePlaces,
} from '../../../postgres/notifications/places.ts';
import { enterWindows } from '../../../postgres/notifications/windows.ts';
import { readOrganisation } from '../../../postgres/organisation.ts';
import { storedStates } from '../../../postgres/users/stored-states.ts';
import { groupsOfRun } from '../../leaderboards/runs.ts';
import { type ScheduledWork, workInPieces } from '../../schedule/due-work.ts';
import { type OnPieceFailed, type Piece, Pieces } from '../../schedule/pieces.ts';
import { listenersOf } from '../listeners.ts';
import { rankChanged } from '../payloads.ts';
import { RecordedUser } from '../rules.ts';
import { boardSubject, throttledChange } from '../throttles.ts';
import { type BoardInPlay, createBoardRankings, type BoardRankings } from './board-rankings.ts';
import type { Publisher } from './publisher.ts';

/** The kind of progress row of tenants whose boards are followed. */
const KIND = 'places';
/** Boards in a query. */
const AT_ONCE = 100;
/** Approximate maximum duration of a piece of work. */
const WORK_MS = 2_000;

const boardPiece = ({ tenantNo, boardNo }: { tenantNo: number; boardNo: number }): Piece => ({
  key: `${tenantNo}:${boardNo}`,
  name: `leaderboard no. ${boardNo} of tenant ${tenantNo}`,
  detail: { tenantNo, boardNo },
});

/**
 * Reports ranks that change because of other users. Within 15 minutes of a change on a board, its places (at most the
 * first 1,000) are compared with the reported ones, and users with another rank are reported, including those who fell
 * off the board. When a tenant's first webhook wants this, the current places become the reported ones.
 */
export function createPlaces(publisher: Publisher, redis: Redis, onFailed?: OnPieceFailed): ScheduledWork {
  const rankings = createBoardRankings(redis);
  const pieces = new Pieces({ kind: 'places on leaderboards', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const { begun, ended } = await followed();
    return begun.length + ended.length > 0 ? upToMs : upcoming(upToMs);
  }

  async function upcoming(untilMs: number): Promise<number | null> {
    return (await toCompare(untilMs, 1))[0]?.compareMs ?? null;
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    await follow(upToMs);
    const endMs = performance.now() + WORK_MS;
    const moved = await toCompare(Math.max(dueMs, beforeMs - 1), AT_ONCE);
    if (moved.length === 0) return;
    const { controlShare } = await readOrganisation(publisher.pool);
    const versions = new Map((await readWanting()).map(({ tenantNo, version }) => [tenantNo, version]));
    for (const board of moved) {
      if (ending.aborted || performance.now() > endMs) return;
      await pieces.attempt(boardPiece(board), ending, async () => {
        const compiled = await publisher.catalog(board.tenantNo, versions.get(board.tenantNo) ?? 0);
        const comparing = { rankings, compiled, controlShare, nowMs: upToMs };
        await publisher.publish(compiled, upToMs, (client) => comparePlaces(client, board, comparing));
      });
    }
  }

  function toCompare(upToMs: number, limit: number): Promise<MovedBoard[]> {
    const except = pieces.aside.map(({ key }) => key);
    return boardsToCompare(publisher.pool, upToMs, except, limit);
  }

  function readWanting(): ReturnType<typeof wantingTenants> {
    return wantingTenants(publisher.pool, ['leaderboard.rank_changed']);
  }

  /** The tenants whose boards are followed from now on, and those whose boards no longer are. */
  async function followed(): Promise<{ begun: number[]; ended: number[] }> {
    const wanting = new Set((await readWanting()).map(({ tenantNo }) => tenantNo));
    const progress = await notificationProgress(publisher.pool, [KIND]);
    const known = new Set(progress.map(({ tenantNo }) => tenantNo));
    return {
      begun: [...wanting].filter((tenantNo) => !known.has(tenantNo)),
      ended: [...known].filter((tenantNo) => !wanting.has(tenantNo)),
    };
  }

  async function follow(nowMs: number): Promise<void> {
    const { pool } = publisher;
    const { begun, ended } = await followed();
    const keyed = (tenantNo: number) => ({ tenantNo, kind: KIND, zone: '' });
    await forgetBoardsOf(pool, ended);
    await endProgress(pool, ended.map(keyed));
    for (const tenantNo of begun) {
      for (const { board } of await boardsInProgress(pool, tenantNo)) {
        for (const { startDay } of runsInPlay(board, nowMs)) {
          const run = { tenantNo, boardNo: board.no, runDay: startDay };
          const groups = await rankings.whole(pool, tenantNo, () => groupsOfRun(redis, board, run));
          const boards = groups.map((group) => ({ tenantNo, boardNo: board.no, runDay: startDay, group }));
          await followBoards(pool, boards, nowMs);
        }
      }
      await beginProgress(pool, [{ ...keyed(tenantNo), doneMs: nowMs }]);
    }
  }

  return workInPieces(pieces, { due, upcoming, perform, seesItself: true, sharesReads: true });
}

export type Places = ReturnType<typeof createPlaces>;

/** The runs of a board that are not final, or contain somebody's local day. */
function runsInPlay(board: Leaderboard, nowMs: number): Run[] {
  const rule = playedRule(board);
  const utcDay = epochDay(nowMs);
  const runs = [-2, -1, 0, 1].flatMap((shift) => runOf(rule, utcDay + shift) ?? []);
  const distinct = new Map(runs.map((run) => [run.startDay, run]));
  return [...distinct.values()].filter(({ endDay }) => endDay === null || finalMs(endDay) > nowMs);
}

interface Comparing {
  rankings: BoardRankings;
  compiled: CompiledCatalog;
  controlShare: number;
  nowMs: number;
}

/**
 * Compares a board's places with the reported ones, in the client's transaction. The transaction holds the cursor of
 * the tenant's shard since before the places are read, so no rank is reported that is older than a reported one.
 * Returns the notifications to send now; ranks of users with an open window wait there. Returns `null` if another
 * process compares the board. Throws RedisNotReady if the shard was not open throughout.
 */
async function comparePlaces(
  client: PoolClient,
  moved: MovedBoard,
  { rankings, compiled, controlShare, nowMs }: Comparing,
): Promise<Notification[] | null> {
  if (!(await noteCompared(client, moved))) return null;
  const played = rankings.inPlay(compiled, moved, nowMs);
  const about = { leaderboardId: played?.board.id ?? '' };
  if (played === null || !listenersOf(compiled).wants('leaderboard.rank_changed', about)) {
    await forgetBoard(client, moved.id);
    return [];
  }
  const { tenantNo } = moved;
  const known = await knownPlaces(client, moved.id);
  const now = await rankings.whole(client, tenantNo, () => placesNow(rankings, played, moved, known));
  const userIds = [...new Set([...known.keys(), ...now.keys()])];
  const reported = await reportedPlaces(client, tenantNo, boardSubject(moved), userIds);
  const changes = overtaken({ now, known, reported });
  const states = await storedStates(
    client,
    tenantNo,
    changes.map(({ userId }) => userId),
  );
  // A user whom Postgres does not know yet will be reported by the user's next record.
  const notifications = changes.flatMap((change) => {
    const state = states.get(change.userId);
    if (state === undefined) return [];
    const user = new RecordedUser({ compiled, controlShare }, change.userId, state);
    return notificationOf({ compiled, moved, played }, change, user);
  });
  const changed = [...now].filter(([userId, { rank, value }]) => {
    const before = known.get(userId);
    return before?.rank !== rank || before.value !== value;
  });
  await savePlaces(
    client,
    moved,
    changed.map(([userId, place]) => ({ userId, ...place })),
    [...known.keys()].filter((userId) => !now.has(userId)),
  );
  const going = await enterWindows(client, notifications.map(throttledChange), nowMs);
  return notifications.filter((_, index) => going.has(index));
}

/** The current places of the first ranks, and of users who were among them before. */
async function placesNow(
  rankings: BoardRankings,
  played: BoardInPlay,
  moved: MovedBoard,
  known: ReadonlyMap<string, Place>,
): Promise<Map<string, Place>> {
  const standings = rankings.standings(played, moved);
  const now = new Map<string, Place>();
  for (const { userId, rank, score } of await rankings.places(standings)) now.set(userId, { rank, value: score });
  if (played.board.maxParticipants !== null) return now;
  // On a board without a maximum, a user who left the compared ranks still has a rank.
  for (const userId of known.keys()) {
    if (now.has(userId)) continue;
    const standing = await standings.find(userId);
    if (standing !== null) now.set(userId, { rank: standing.rank, value: standing.score });
  }
  return now;
}

function notificationOf(
  { compiled, moved, played }: { compiled: CompiledCatalog; moved: MovedBoard; played: BoardInPlay },
  { userId, now, before }: Overtaken,
  user: RecordedUser,
): Notification {
  const { tenantNo, runDay, group, compareMs } = moved;
  const { board } = played;
  const change = {
    rank: now?.rank ?? null,
    value: now?.value ?? null,
    previousRank: before.rank,
    previousValue: before.value,
  };
  const groupHash = createHash('sha256').update(group).digest('hex').slice(0, 16);
  return {
    type: 'leaderboard.rank_changed',
    tenantNo,
    userId,
    atMs: compareMs,
    source: `places:${board.no}:${runDay}:${groupHash}:${compareMs}:${userId}`,
    about: { leaderboardId: board.id },
    place: { boardNo: board.no, runDay, group },
    payload: rankChanged(user.json(), { compiled, board, runDay, group }, change),
  };
}

export interface Place {
  rank: number;
  value: number;
}

/** A user whose current rank is neither reported nor waiting to be. */
interface Overtaken {
  userId: string;
  /** `null` if the user is not on the board. */
  now: Place | null;
  before: { rank: number | null; value: number | null };
}

const NOWHERE = { rank: null, value: null };

/**
 * Users whose changed rank must be reported. A rank reported in a window takes precedence over the last comparison; a
 * waiting change suffices if it has the current rank. Without an earlier comparison, users without a window are skipped
 * because their previous place is unknown. Pure.
 * @param known the places at the last comparison
 */
export function overtaken(places: {
  now: ReadonlyMap<string, Place>;
  known: ReadonlyMap<string, Place>;
  reported: ReadonlyMap<string, ReportedPlace>;
}): Overtaken[] {
  const { now, known, reported } = places;
  const changes: Overtaken[] = [];
  for (const userId of new Set([...known.keys(), ...now.keys()])) {
    const place = now.get(userId) ?? null;
    const window = reported.get(userId);
    if (window === undefined && known.size === 0) continue;
    const { rank, value } = window ?? known.get(userId) ?? NOWHERE;
    const latest = window?.waits === true ? window.waitingRank : rank;
    if (latest !== (place?.rank ?? null)) changes.push({ userId, now: place, before: { rank, value } });
  }
  return changes;
}
