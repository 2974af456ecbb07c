import type { Leaderboard } from '../../domain/catalog.ts';
import { boardChanged, comparePlaces, moved, ranksChanged, type BoardSources } from './board-report.ts';
import type { FeedListeners } from './feed-listeners.ts';
import type { LiveListener, Unsent } from './live-listener.ts';
import type { ChangedGroup, PendingBoards } from './pending-boards.ts';

/** Messages for listeners, in their order. */
type Made = Map<LiveListener, Unsent[]>;

/**
 * Makes what changes of boards are to listeners: that boards they follow changed, and to admin keys whose ranks did, to the
 * others whether their own user's did: also where others passed it. Each payload is made once for all. Errors of Redis.
 */
export async function reportBoards(
  sources: BoardSources,
  listeners: FeedListeners,
  pending: PendingBoards,
): Promise<Made> {
  const made: Made = new Map();
  const compare = new Map<LiveListener, Set<Leaderboard>>();
  const changed: { board: Leaderboard; at: ChangedGroup; to: LiveListener[] }[] = [];
  const { catalog, leaderboardsByNo } = sources.compiled;

  for (const one of listeners.late) {
    for (const at of one.earlier?.pending.groups.values() ?? []) {
      const board = leaderboardsByNo.get(at.boardNo);
      if (board === undefined) continue;
      if (concerns(one, board, at)) changed.push({ board, at, to: [one] });
      if (one.wantsBoard(board.id) && mayMove(one, at)) note(compare, one, board);
    }
    // Who hears of nothing has heard of all, too.
    made.set(one, []);
  }
  for (const at of pending.groups.values()) {
    const board = leaderboardsByNo.get(at.boardNo);
    if (board === undefined) continue;
    const to = [...(listeners.ofBoard(board.id) ?? []), ...listeners.ofAdmins];
    changed.push({ board, at, to: to.filter((one) => concerns(one, board, at)) });
    for (const one of to) if (mayMove(one, at)) note(compare, one, board);
  }
  for (const one of pending.everyPlace ? listeners.all : listeners.comparing)
    if (one.followsPlaces)
      for (const board of catalog.leaderboards) if (one.wantsBoard(board.id)) note(compare, one, board);
  listeners.comparing.clear();
  listeners.late.clear();

  for (const { board, at, to } of changed) {
    const wanting = to.filter((one) => one.wantsType('leaderboard.changed'));
    if (wanting.length > 0) {
      const message = await boardChanged(sources, board, at);
      for (const one of wanting) put(made, one, [message]);
    }
    const admins = to.filter((one) => one.grant.kind === 'admin' && one.wantsType('leaderboard.rank_changed'));
    if (admins.length === 0) continue;
    for (const move of at.moved.values()) {
      const of = admins.filter(({ grant: { userId } }) => userId === null || userId === move.userId);
      const message = of.length === 0 ? null : moved(sources, board, move);
      if (message !== null) for (const one of of) put(made, one, [message]);
    }
  }

  const asked = [...compare].flatMap(([listener, boards]) => [...boards].map((board) => ({ listener, board })));
  const compared = await comparePlaces(sources, asked);
  for (const [one, messages] of await ranksChanged(sources, compared))
    if (one.wantsType('leaderboard.rank_changed')) put(made, one, messages);
    else for (const { reports } of messages) one.places.set(...reports!);
  return made;
}

/** Whether a stream is to hear that a group changed: of one user, the group that the user plays in. */
function concerns(listener: LiveListener, board: Leaderboard, at: ChangedGroup): boolean {
  if (!listener.wantsBoard(board.id)) return false;
  const { kind, userId } = listener.grant;
  if (kind === 'admin') return true;
  const held = listener.places.get(board.no);
  return (held?.runDay === at.runDay && held.group === at.group) || at.moved.has(userId!);
}

/** Whether the moves in a group may have changed the rank of a stream's user. */
function mayMove(listener: LiveListener, at: ChangedGroup): boolean {
  const { kind, userId } = listener.grant;
  if (kind === 'admin') return false;
  if (at.moved.has(userId!)) return true;
  const held = listener.places.get(at.boardNo);
  if (held === undefined || held.runDay !== at.runDay || held.group !== at.group) return false;
  const rank = held.rank ?? Infinity;
  return rank >= at.best && rank <= at.last;
}

function note(compare: Map<LiveListener, Set<Leaderboard>>, listener: LiveListener, board: Leaderboard): void {
  const boards = compare.get(listener);
  if (boards === undefined) compare.set(listener, new Set([board]));
  else boards.add(board);
}

function put(made: Made, listener: LiveListener, messages: readonly Unsent[]): void {
  const own = made.get(listener);
  if (own === undefined) made.set(listener, [...messages]);
  else own.push(...messages);
}
