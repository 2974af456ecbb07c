import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Notification } from '../../../domain/notification.ts';
import {
  forgetBoard,
  knownPlaces,
  type MovedBoard,
  noteCompared,
  reportedPlaces,
  savePlaces,
} from '../../../postgres/notifications/places.ts';
import { enterWindows } from '../../../postgres/notifications/windows.ts';
import { storedStates } from '../../../postgres/users/stored-states.ts';
import { listenersOf } from '../listeners.ts';
import { rankChanged } from '../payloads/leaderboards.ts';
import { RecordedUser } from '../recorded-user.ts';
import { boardSubject, throttledChange } from '../throttled-change.ts';
import type { BoardInPlay, BoardRankings } from './board-rankings.ts';
import { overtaken, type Overtaken, type Place } from './overtaken.ts';

/** What a board's places are compared with. */
export interface Comparing {
  rankings: BoardRankings;
  compiled: CompiledCatalog;
  /** Share of the users who are in the control group. */
  controlShare: number;
  /** Laurel's clock. */
  nowMs: number;
}

/**
 * Compares a board's places with those that were reported, in the client's transaction, which holds the cursor of the
 * tenant's shard from before the places are read: no rank that is older than a reported one is ever reported. Answers what
 * goes out now; ranks of users with an open window are left to wait there. Null: another process compares the board. Throws
 * RedisNotReady where the board was not whole all the while.
 */
export async function comparePlaces(
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
  const reported = await reportedPlaces(client, { tenantNo, subject: boardSubject(moved) }, userIds);
  const changes = overtaken({ now, known, reported });
  const states = await storedStates(
    client,
    tenantNo,
    changes.map(({ userId }) => userId),
  );
  // A user whom Postgres does not know yet is reported by the record that comes.
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
  await savePlaces(client, moved, {
    changed: changed.map(([userId, place]) => ({ userId, ...place })),
    gone: [...known.keys()].filter((userId) => !now.has(userId)),
  });
  const going = await enterWindows(client, notifications.map(throttledChange), nowMs);
  return notifications.filter((_, index) => going.has(index));
}

/** The places as they are: of the first ranks, and of those who were there before and are not any more. */
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
  // Of a board without a maximum only the best are compared: who left those has a rank all the same.
  for (const userId of known.keys()) {
    if (now.has(userId)) continue;
    const found = await standings.find(userId);
    if (found !== null) now.set(userId, { rank: found.rank, value: found.score });
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
