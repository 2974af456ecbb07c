import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { type Micros, microsNumber, microsOf } from '../../domain/decimal.ts';
import { turned } from '../../domain/leaderboard.ts';
import { NO_RANK, RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { packedUser, packedUsers } from '../../redis/parts.ts';
import { shownRankings } from '../leaderboards/shown-rankings.ts';
import { LiveStandings } from '../leaderboards/live-standings.ts';
import { memberPage, ranked } from '../leaderboards/standings.ts';
import { addRanks } from '../leaderboards/wide-ranks.ts';
import { boardPayload, rankChanged, userJson } from '../notifications/payloads.ts';
import { userAchievementResponse } from '../responses/achievements.ts';
import { leaderboardResponse } from '../responses/leaderboards.ts';
import { levelResponse, pointsResponse } from '../responses/points.ts';
import { baseStreak, settledNow } from '../responses/streaks.ts';
import {
  type AskedPlace,
  type HeldPlace,
  type LiveListener,
  readPlaces,
  type SeatedUser,
  seatOf,
  type Unsent,
} from './stream-listener.ts';
import { type BoardMove, rankOf } from './tenant-entries.ts';
import type { ChangedGroup } from './tenant-boards.ts';
import { scoreIn } from '../../rules/leaderboards.ts';
import { addTo } from '../../grouped.ts';

/** Rankings in a `leaderboard.changed`. It comes up to four times a second, and clients can read the rest. */
const LIVE_RANKINGS = 10;

export interface BoardSources {
  redis: Redis;
  compiled: CompiledCatalog;
  controlShare: number;
  nowMs: number;
}

/** Builds `leaderboard.changed` for a group, with its current first places. Throws errors of Redis. */
export async function boardChanged(
  { redis, compiled }: BoardSources,
  board: Leaderboard,
  at: ChangedGroup,
): Promise<Unsent> {
  const { tenantNo } = compiled.catalog;
  const standings = new LiveStandings(redis, { tenantNo, ...at }, board);
  const { members } = await memberPage(standings, { offset: 0, limit: LIVE_RANKINGS });
  const places = await ranked(standings, members, { from: 0, before: undefined });
  const rankings = await shownRankings(redis, { tenantNo, board, runDay: at.runDay }, places);
  const payload = boardPayload('leaderboard.changed', { compiled, board, ...at }, 'active', rankings);
  return { type: 'leaderboard.changed', payload };
}

/** Counts the ranks that the moves of a wide tenant lack. Throws errors of Redis. */
export async function rankMoves({ redis, compiled }: BoardSources, groups: readonly ChangedGroup[]): Promise<void> {
  const unranked = groups.flatMap(({ moved: moves }) => [...moves.values()].filter(isUnranked));
  const boards = unranked.map(({ boardNo, runDay, group, previousScore, score, previousReached, reached }) => ({
    [RECORDED_BOARD.board]: boardNo,
    [RECORDED_BOARD.runDay]: runDay,
    [RECORDED_BOARD.group]: group,
    [RECORDED_BOARD.previousRank]: NO_RANK.unranked as number,
    [RECORDED_BOARD.rank]: NO_RANK.unranked as number,
    [RECORDED_BOARD.threshold]: 0,
    [RECORDED_BOARD.previousScore]: previousScore ?? 0,
    [RECORDED_BOARD.score]: score ?? 0,
    ...(reached !== undefined && {
      [RECORDED_BOARD.previousReached]: previousReached ?? 0,
      [RECORDED_BOARD.reached]: reached,
    }),
  }));
  const records = unranked.map(({ userId }, index) => ({ [RECORD.userId]: userId, [RECORD.boards]: [boards[index]!] }));
  await addRanks(redis, compiled, records);
  for (const [index, move] of unranked.entries()) {
    move.from = rankOf(boards[index]![RECORDED_BOARD.previousRank]);
    move.to = rankOf(boards[index]![RECORDED_BOARD.rank]);
  }
  for (const group of groups) {
    if (!Number.isNaN(group.best)) continue;
    const touched = [...group.moved.values()].flatMap(({ from, to }) => [from, to]);
    group.best = Math.min(...touched);
    group.last = Math.max(...touched);
  }
}

const isUnranked = ({ from, to }: BoardMove): boolean => Number.isNaN(from) || Number.isNaN(to);

const numberOf = (micros: Micros | null): number | null => (micros === null ? null : microsNumber(micros));

/** One `leaderboard.rank_changed` for all moves of a user; `null` if they end where they began. */
export function moved({ compiled }: BoardSources, board: Leaderboard, move: BoardMove): Unsent | null {
  const { user, runDay, group, from, to, earned } = move;
  if (from === to || user === undefined) return null;
  const current = scoreIn(user.state(), { board: board.no, runDay });
  const score = current === undefined ? null : microsOf(current);
  const previous = score === null || earned === null ? null : score - earned;
  const valueOf = (known: number | null): number | null => (known === null ? null : turned(board, known));
  const place = {
    rank: to === Infinity ? null : to,
    value: to === Infinity ? null : valueOf(move.score ?? numberOf(score)),
    previousRank: from === Infinity ? null : from,
    previousValue: from === Infinity ? null : valueOf(move.previousScore ?? numberOf(previous)),
  };
  const payload = rankChanged(user.json(), { compiled, board, runDay, group }, place);
  return { type: 'leaderboard.rank_changed', payload };
}

/**
 * Compares the current places of the listeners' users with the places last reported to each listener. Throws errors of
 * Redis.
 * @param asked the board on which to find each listener's user
 */
export async function comparePlaces(
  { redis, compiled, nowMs }: BoardSources,
  asked: readonly { listener: LiveListener; board: Leaderboard }[],
): Promise<{ listener: LiveListener; board: Leaderboard; held: HeldPlace | undefined; place: HeldPlace }[]> {
  const { tenantNo } = compiled.catalog;
  const places = asked.flatMap(({ listener, board }): (AskedPlace & { listener: LiveListener })[] => {
    const seat = seatOf(board, listener.user, nowMs);
    return seat === null ? [] : [{ tenantNo, board, seat, userId: listener.grant.userId!, listener }];
  });
  const current = await readPlaces(redis, places);
  return places.map(({ listener, board, seat }, index) => ({
    listener,
    board,
    held: listener.places.get(board.no),
    place: { ...seat, rank: current[index]?.rank ?? null, value: current[index]?.value ?? null },
  }));
}

/**
 * Builds `leaderboard.rank_changed`, by listener, for compared places whose rank changed or appeared in a new run. A
 * new place takes effect with its message; a place without a message takes effect at once. Throws errors of Redis.
 */
export async function ranksChanged(
  { redis, compiled, controlShare }: BoardSources,
  compared: Awaited<ReturnType<typeof comparePlaces>>,
): Promise<Map<LiveListener, Unsent[]>> {
  const { tenantNo } = compiled.catalog;
  const changed = compared.filter(({ held, place }) => previousRank(held, place) !== place.rank);
  // Read and decode each user once, although a user may have several streams and boards.
  const userIds = [...new Set(changed.map(({ listener }) => listener.grant.userId!))];
  const states = userIds.length === 0 ? [] : await packedUsers(redis, tenantNo, userIds);
  const users = new Map(
    userIds.flatMap((userId, index) => {
      const packed = states[index];
      if (packed === null || packed === undefined) return [];
      return [[userId, userJson(compiled, { userId, state: decodeUser(packed), controlShare })] as const];
    }),
  );
  const messages = new Map<LiveListener, Unsent[]>();
  for (const { listener, board, held, place } of compared)
    if (held === undefined || previousRank(held, place) === place.rank)
      listener.places.set(board.no, held?.runDay === place.runDay ? { ...held, group: place.group } : place);
  for (const { listener, board, held, place } of changed) {
    const user = users.get(listener.grant.userId!);
    if (user === undefined) {
      listener.places.set(board.no, place);
      continue;
    }
    const isSameRun = held?.runDay === place.runDay;
    const payload = rankChanged(
      user,
      { compiled, board, runDay: place.runDay, group: place.group ?? '' },
      {
        rank: place.rank,
        value: place.value,
        previousRank: isSameRun ? held.rank : null,
        previousValue: isSameRun ? held.value : null,
      },
    );
    const unsent: Unsent = { type: 'leaderboard.rank_changed', payload, reports: [board.no, place] };
    addTo(messages, listener, unsent);
  }
  return messages;
}

/** The previous rank in the current run. */
const previousRank = (held: HeldPlace | undefined, place: HeldPlace): number | null =>
  held?.runDay === place.runDay ? held.rank : null;

/** The part of a user's state that determines where the user plays. */
export const seatedUser = ({ zone, scores }: SeatedUser): SeatedUser => ({ zone, scores });

/**
 * What a client needs to continue after a gap: the streak, points and completed achievements of the stream's user, and
 * the places in the listener. `null` for streams of several users, and for an unknown user. Throws errors of Redis.
 */
export async function presentState(
  { redis, compiled, nowMs }: BoardSources,
  listener: LiveListener,
): Promise<object | null> {
  const { userId, kind, tenantNo } = listener.grant;
  if (kind === 'admin' || userId === null) return null;
  const packed = await packedUser(redis, tenantNo, userId);
  if (packed === null) return null;
  const state = decodeUser(packed);
  const { day, streaks, freezes, offDays } = settledNow(compiled, state, nowMs);
  const streak = streaks[compiled.catalog.streaks.frequency];
  return {
    userId,
    streak: baseStreak(compiled, { streak, freezesLeft: freezes, day, offDays }),
    points: compiled.catalog.pointsSystems.map((system) => {
      const total = state.points.get(system.no) ?? 0;
      const level = compiled.levelOf(system.id, total);
      return { ...pointsResponse(system), total, level: level === null ? null : levelResponse(level) };
    }),
    achievements: compiled.catalog.achievements
      .filter(({ no, status }) => status !== 'inactive' && state.completions.has(no))
      .map((achievement) => userAchievementResponse(compiled, achievement, state, { nowMs })),
    leaderboards: heldPlaces(compiled, listener),
  };
}

const heldPlaces = (compiled: CompiledCatalog, { places }: LiveListener): object[] =>
  [...places].flatMap(([no, { rank, value }]) => {
    const board = compiled.leaderboardsByNo.get(no);
    return board === undefined ? [] : [{ ...leaderboardResponse(compiled, board), rank, value }];
  });
