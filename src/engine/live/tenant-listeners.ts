import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalText } from '../../domain/decimal.ts';
import { LIVE_TYPES, type LiveType } from '../../domain/notifications/live.ts';
import { uuidText } from '../../domain/schemas.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { TOTAL } from '../../packed/user-fields.ts';
import { type LiveListeners, MOST_LISTENING_USERS } from '../../redis/live-streams.ts';
import {
  boardChanged,
  type BoardSources,
  comparePlaces,
  moved,
  rankMoves,
  ranksChanged,
} from './tenant-board-reports.ts';
import type { LiveGrant } from './stream-grants.ts';
import type { LiveListener, Unsent } from './stream-listener.ts';
import type { ChangedGroup, PendingBoards } from './tenant-boards.ts';
import { addTo } from '../../grouped.ts';

/** The listeners of a feed, and the leaderboards that they follow. */

export class FeedListeners {
  private readonly every = new Set<LiveListener>();
  /** Listeners with admin keys. */
  private readonly admins = new Set<LiveListener>();
  private readonly users = new Map<string, Set<LiveListener>>();
  private readonly boards = new Map<string, Set<LiveListener>>();
  /** Number of listeners that want each type. */
  private readonly types = new Map<LiveType, number>();
  readonly ofEvents = new Set<LiveListener>();
  /** Listeners all of whose places must be compared with the reported ones. */
  readonly comparing = new Set<LiveListener>();
  /** Listeners that joined with earlier, unreported changes of boards. */
  readonly late = new Set<LiveListener>();

  get all(): ReadonlySet<LiveListener> {
    return this.every;
  }

  get isEmpty(): boolean {
    return this.every.size === 0;
  }

  get wantsAll(): boolean {
    return this.admins.size > 0;
  }

  get followPlaces(): boolean {
    return this.boards.size > 0;
  }

  get followBoards(): boolean {
    return this.followPlaces || this.wantsAll;
  }

  get whom(): Pick<LiveListeners, 'users' | 'ranks'> {
    const users = new Set(this.users.keys());
    for (const { grant } of this.admins) {
      if (grant.userId === null) return { users: null, ranks: true };
      users.add(grant.userId);
    }
    return { users: users.size > MOST_LISTENING_USERS ? null : [...users], ranks: this.followBoards };
  }

  wantType(type: LiveType): boolean {
    return this.types.has(type);
  }

  /** Listeners other than admin keys to whom a board may be reported. */
  ofBoard(boardId: string): ReadonlySet<LiveListener> | undefined {
    return this.boards.get(boardId);
  }

  get ofAdmins(): ReadonlySet<LiveListener> {
    return this.admins;
  }

  ofUser(userId: string): ReadonlySet<LiveListener> | undefined {
    return this.users.get(userId);
  }

  /** The listeners that a notification about a user may concern; all of them if `userId` is `null`. */
  *of(userId: string | null): Generator<LiveListener> {
    if (userId === null) yield* this.every;
    else {
      yield* this.admins;
      yield* this.users.get(userId) ?? [];
    }
  }

  add(listener: LiveListener): void {
    const { kind, userId, boardIds } = listener.grant;
    this.every.add(listener);
    for (const type of LIVE_TYPES) if (listener.wantsType(type)) this.types.set(type, (this.types.get(type) ?? 0) + 1);
    if (listener.earlier !== null) this.late.add(listener);
    if (kind === 'admin') {
      this.admins.add(listener);
      if (listener.wantsType('event')) this.ofEvents.add(listener);
      return;
    }
    addListener(this.users, userId!, listener);
    for (const boardId of boardIds) addListener(this.boards, boardId, listener);
    if (listener.followsPlaces) this.comparing.add(listener);
  }

  delete(listener: LiveListener): void {
    const { userId, boardIds } = listener.grant;
    if (!this.every.delete(listener)) return;
    for (const type of LIVE_TYPES) if (listener.wantsType(type)) this.wantLess(type);
    this.admins.delete(listener);
    this.ofEvents.delete(listener);
    this.comparing.delete(listener);
    this.late.delete(listener);
    if (userId !== null) removeFrom(this.users, userId, listener);
    for (const boardId of boardIds) removeFrom(this.boards, boardId, listener);
  }

  private wantLess(type: LiveType): void {
    const count = this.types.get(type)! - 1;
    if (count === 0) this.types.delete(type);
    else this.types.set(type, count);
  }
}

function addListener(sets: Map<string, Set<LiveListener>>, name: string, listener: LiveListener): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([listener]));
  else set.add(listener);
}

function removeFrom(sets: Map<string, Set<LiveListener>>, name: string, listener: LiveListener): void {
  const set = sets.get(name);
  set?.delete(listener);
  if (set?.size === 0) sets.delete(name);
}

/** Messages for listeners, in order. */
type MessagesByListener = Map<LiveListener, Unsent[]>;

/**
 * Builds the messages about changed boards: for every listener, that a board it follows changed; for admin keys, all
 * changed ranks; for the others, the rank of their own user, even if others passed it. Each payload is built once for
 * all. Throws errors of Redis.
 */
export async function reportBoards(
  sources: BoardSources,
  listeners: FeedListeners,
  pending: PendingBoards,
): Promise<MessagesByListener> {
  const unsentOf: MessagesByListener = new Map();
  const compare = new Map<LiveListener, Set<Leaderboard>>();
  const changed: { board: Leaderboard; at: ChangedGroup; to: LiveListener[] }[] = [];
  const { catalog, leaderboardsByNo } = sources.compiled;

  // Listeners that join from here on belong to the next report.
  for (const one of listeners.late) {
    for (const at of one.earlier?.pending.groups.values() ?? []) {
      const board = leaderboardsByNo.get(at.boardNo);
      if (board !== undefined && one.wantsBoard(board.id)) changed.push({ board, at, to: [one] });
    }
    // An empty list still moves the listener's position forward.
    unsentOf.set(one, []);
  }
  for (const at of pending.groups.values()) {
    const board = leaderboardsByNo.get(at.boardNo);
    if (board === undefined) continue;
    changed.push({ board, at, to: [...(listeners.ofBoard(board.id) ?? []), ...listeners.ofAdmins] });
  }
  for (const one of pending.everyPlace ? listeners.all : listeners.comparing)
    if (one.followsPlaces)
      for (const board of catalog.leaderboards) if (one.wantsBoard(board.id)) note(compare, one, board);
  listeners.comparing.clear();
  listeners.late.clear();

  await rankMoves(
    sources,
    changed.map(({ at }) => at),
  );
  for (const each of changed) {
    for (const one of each.to) if (mayMove(one, each.at)) note(compare, one, each.board);
    each.to = each.to.filter((one) => concerns(one, each.board, each.at));
  }
  for (const { board, at, to } of changed) {
    const wanting = to.filter((one) => one.wantsType('leaderboard.changed'));
    if (wanting.length > 0) {
      const message = await boardChanged(sources, board, at);
      for (const one of wanting) addTo(unsentOf, one, message);
    }
    const admins = to.filter((one) => one.grant.kind === 'admin' && one.wantsType('leaderboard.rank_changed'));
    if (admins.length === 0) continue;
    for (const move of at.moved.values()) {
      const of = admins.filter(({ grant: { userId } }) => userId === null || userId === move.userId);
      const message = of.length === 0 ? null : moved(sources, board, move);
      if (message !== null) for (const one of of) addTo(unsentOf, one, message);
    }
  }

  const places = [...compare].flatMap(([listener, boards]) => [...boards].map((board) => ({ listener, board })));
  const compared = await comparePlaces(sources, places);
  for (const [one, messages] of await ranksChanged(sources, compared))
    if (one.wantsType('leaderboard.rank_changed')) addTo(unsentOf, one, ...messages);
    else for (const { reports } of messages) one.places.set(...reports!);
  return unsentOf;
}

/** Whether a stream is informed about a changed group: a user's stream, only about the group in which the user plays. */
function concerns(listener: LiveListener, board: Leaderboard, at: ChangedGroup): boolean {
  if (!listener.wantsBoard(board.id)) return false;
  const { kind, userId } = listener.grant;
  if (kind === 'admin') return true;
  const place = listener.places.get(board.no);
  return (place?.runDay === at.runDay && place.group === at.group) || at.moved.has(userId!);
}

/** Whether the moves in a group may have changed the rank of a stream's user. */
function mayMove(listener: LiveListener, at: ChangedGroup): boolean {
  const { kind, userId } = listener.grant;
  if (kind === 'admin') return false;
  if (at.moved.has(userId!)) return true;
  const place = listener.places.get(at.boardNo);
  if (place === undefined || place.runDay !== at.runDay || place.group !== at.group) return false;
  const rank = place.rank ?? Infinity;
  return rank >= at.best && rank <= at.last;
}

function note(compare: Map<LiveListener, Set<Leaderboard>>, listener: LiveListener, board: Leaderboard): void {
  const boards = compare.get(listener);
  if (boards === undefined) compare.set(listener, new Set([board]));
  else boards.add(board);
}

/** Events per second that a stream shows: enough to see what is going on, without copying the history. */
export const SAMPLED_A_SECOND = 20;

/** Samples events for one stream: up to a number per second, the first ones of each moment. Counts the others. */
export class EventSample {
  private readonly grant: LiveGrant;
  private readonly nowMs: () => number;
  private allowed = SAMPLED_A_SECOND;
  private countedMs: number;
  private skipped = 0;

  /** @param nowMs the machine's time, from any origin */
  constructor(grant: LiveGrant, nowMs: () => number = () => performance.now()) {
    this.grant = grant;
    this.nowMs = nowMs;
    this.countedMs = nowMs();
  }

  /** The message about an event; `null` if the event belongs to another user or metric, or is only counted. */
  take(compiled: CompiledCatalog, record: HappenedRecord): Unsent | null {
    const { userId, metricIds } = this.grant;
    if (userId !== null && userId !== record[RECORD.userId]) return null;
    const metric = compiled.metricsByNo.get(record[RECORD.metric] ?? -1);
    if (metric === undefined || (metricIds !== null && !metricIds.includes(metric.id))) return null;
    const nowMs = this.nowMs();
    this.allowed = Math.min(SAMPLED_A_SECOND, this.allowed + ((nowMs - this.countedMs) / 1000) * SAMPLED_A_SECOND);
    this.countedMs = nowMs;
    if (this.allowed < 1) {
      this.skipped += 1;
      return null;
    }
    this.allowed -= 1;
    const { skipped } = this;
    this.skipped = 0;
    return { type: 'event', payload: JSON.stringify({ type: 'event', event: eventOf(metric.key, record), skipped }) };
  }
}

const eventOf = (metricKey: string, record: HappenedRecord) => ({
  id: uuidText(record[RECORD.id]),
  userId: record[RECORD.userId],
  metricKey,
  value: numberOf(record[RECORD.value]),
  total: numberOf(record[RECORD.total]),
  at: new Date(record[RECORD.atMs]).toISOString(),
});

function numberOf(recorded: HappenedRecord[typeof RECORD.value]): number {
  return recorded === undefined
    ? 0
    : Number(decimalText({ whole: recorded[TOTAL.whole], micros: recorded[TOTAL.micros] }));
}
