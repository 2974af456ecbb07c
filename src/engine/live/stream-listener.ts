import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { turned } from '../../domain/leaderboard.ts';
import type { LiveType } from '../../domain/notifications/live.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { epochDay } from '../../domain/periods.ts';
import { boardStatus, playedRule, runShownOn } from '../../domain/runs.ts';
import { dayIn } from '../../domain/zone.ts';
import type { User } from '../../rules/user.ts';
import { boardKey, shardOfKey, type TenantPart } from '../../redis/keys.ts';
import { tenantParts, userPart } from '../../redis/parts.ts';
import { hasReached, type LiveListeners, type LivePosition } from '../../redis/live-streams.ts';
import { comparePositions } from '../../redis/outbox.ts';
import { LiveStandings } from '../leaderboards/live-standings.ts';
import { isFor, type LiveGrant } from './stream-grants.ts';
import type { HeldKey } from './stream-keys.ts';
import type { ClosingReason, LiveMessage, LiveSink } from './stream-sink.ts';
import type { ListenerPosition, MessageIds, PartPosition, ReportedPlace } from './stream-message-id.ts';
import type { PendingBoards } from './tenant-boards.ts';
import { repliesOf } from '../../redis/commands.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { scoreIn } from '../../rules/leaderboards.ts';

/** The position of the reader through which a listener is informed. Places are the listener's own. */
export type ReadPosition = Omit<ListenerPosition, 'places'>;

/** The position with changes in one of the parts. */
export const movedIn = (at: ReadPosition, part: number, change: Partial<PartPosition>): ReadPosition => ({
  ...at,
  parts: at.parts.with(part, { ...at.parts[part]!, ...change }),
});

/** A place on a board as last reported, and its group. */
export interface HeldPlace extends ReportedPlace {
  group: string | null;
}

/** A message without ID: the JSON text of an object that begins with its type. */
export interface Unsent {
  type: string;
  payload: string;
  /** The place that the message reports, by board number. Sending the message updates the listener's place. */
  reports?: readonly [boardNo: number, place: HeldPlace];
}

/** A stream: what it may see, how far it has come, and where its messages go. */
export class LiveListener {
  readonly grant: LiveGrant;
  readonly key: HeldKey;
  readonly session: string;
  readonly sink: LiveSink;
  /** By board number, for the boards that it follows. */
  readonly places = new Map<number, HeldPlace>();
  /** Determines where its user plays; `null` for an unknown user. */
  user: SeatedUser | null = null;
  /** Unreported changes of boards from before it joined, and the position of its boards by part; `null`: none. */
  earlier: { pending: PendingBoards; boards: readonly string[] } | null = null;
  /** The position by part up to which it read on its own; `null` if it is level with the others. */
  ahead: readonly LivePosition[] | null = null;
  heartbeatMs = 0;
  closed = false;
  /** See `digestOf`. */
  digest = '';
  private readonly ids: MessageIds;
  private readonly onSent: (messages: number) => void;
  private queue: LiveMessage[] = [];
  private queued = 0;
  /** The last ID without its counter, and how many messages have it. */
  private lastId = '';
  private ofLastId = 0;

  constructor(options: {
    grant: LiveGrant;
    key: HeldKey;
    session: string;
    sink: LiveSink;
    ids: MessageIds;
    /** Called with the number of messages whenever some are sent. */
    onSent: (messages: number) => void;
  }) {
    this.grant = options.grant;
    this.key = options.key;
    this.session = options.session;
    this.sink = options.sink;
    this.ids = options.ids;
    this.onSent = options.onSent;
  }

  /** Whether it follows a user's ranks on boards. */
  get followsPlaces(): boolean {
    return this.grant.kind === 'application' && this.grant.boardIds.length > 0;
  }

  get whom(): LiveListeners {
    const { tenantNo, userId, kind } = this.grant;
    return { tenantNo, users: userId === null ? null : [userId], ranks: kind === 'admin' || this.followsPlaces };
  }

  wantsType(type: LiveType): boolean {
    const { types, kind } = this.grant;
    return types === null ? type !== 'event' || kind === 'admin' : types.includes(type);
  }

  wantsBoard(boardId: string): boolean {
    const { kind, boardIds, leaderboardIds } = this.grant;
    if (leaderboardIds !== null && !leaderboardIds.includes(boardId)) return false;
    return kind === 'admin' || boardIds.includes(boardId);
  }

  /** Whether it has already read an outbox entry or an announced notification of a part. */
  hasRead(part: number, stream: keyof LivePosition, position: string): boolean {
    return this.ahead !== null && comparePositions(position, this.ahead[part]![stream]) <= 0;
  }

  /** Whether the others have caught up with it, so that nothing is read twice any longer. `at`: theirs, by part. */
  isLevel(at: readonly LivePosition[]): boolean {
    if (this.ahead?.some((own, part) => !hasReached(at[part]!, own)) === true) return false;
    this.ahead = null;
    return true;
  }

  /** Takes a notification if it is for this stream. Returns true if there is something to send. */
  take(notification: Notification, at: ReadPosition): boolean {
    if (this.closed || !isFor(this.grant, notification) || !this.isOfOwnGroup(notification)) return false;
    this.put({ type: notification.type, payload: notification.payload }, at);
    return true;
  }

  /** Whether it may be informed about a group: a stream of an application key only about the group of its user's score. */
  private isOfOwnGroup({ place, userId }: Notification): boolean {
    if (place === undefined || place.group === '' || userId !== null || this.grant.kind === 'admin') return true;
    return (
      this.user !== null && scoreIn(this.user, { board: place.boardNo, runDay: place.runDay })?.group === place.group
    );
  }

  /** Queues a message. */
  put({ type, payload, reports }: Unsent, at: ReadPosition): void {
    if (reports !== undefined) this.places.set(...reports);
    const id = this.nextId(at);
    const json = `{"id":"${id}",${payload.slice(1)}`;
    this.queue.push({ id, type, json });
    this.queued += json.length;
  }

  /** Characters of JSON in the queue. */
  get queuedCharacters(): number {
    return this.queued;
  }

  flush(): void {
    if (this.queue.length === 0) return;
    const messages = this.queue;
    this.queue = [];
    this.queued = 0;
    if (this.closed) return;
    this.sink.send(messages);
    this.onSent(messages.length);
  }

  heartbeat(at: ReadPosition): void {
    if (!this.closed) this.sink.heartbeat(this.idOf(at, 0));
  }

  end(reason: ClosingReason): void {
    if (this.closed) return;
    this.flush();
    this.closed = true;
    this.sink.end(reason);
  }

  private nextId(at: ReadPosition): string {
    const id = this.idOf(at, 0);
    if (id !== this.lastId) {
      this.lastId = id;
      this.ofLastId = 1;
      return id;
    }
    const nth = this.ofLastId;
    this.ofLastId += 1;
    return this.idOf(at, nth);
  }

  private idOf(at: ReadPosition, nth: number): string {
    const { session, digest, places } = this;
    return this.ids.format({ session, digest, position: { ...this.own(at), places }, nth });
  }

  /** This stream's position when the others are at a position. */
  private own(at: ReadPosition): ReadPosition {
    const { earlier, ahead } = this;
    if (earlier === null && ahead === null) return at;
    return {
      ...at,
      parts: at.parts.map((others, part) => {
        const boards = earlier === null ? others.boards : earlier.boards[part]!;
        if (ahead === null) return { ...others, boards };
        const { outbox, announced } = ahead[part]!;
        return {
          ...others,
          ...(comparePositions(others.outbox, outbox) <= 0 && { outbox, within: null }),
          announced: comparePositions(others.announced, announced) < 0 ? announced : others.announced,
          boards,
        };
      }),
    };
  }
}

interface Seat {
  runDay: number;
  /** `null` if the user is in no group: without a value for the breakdown, or without a score. */
  group: string | null;
}

/** The part of a state that determines a user's seats. */
export type SeatedUser = Pick<User, 'zone' | 'scores'>;

/** The run and group in which a user currently plays on a board; `null` if the board is not active. */
export function seatOf(board: Leaderboard, user: SeatedUser | null, nowMs: number): Seat | null {
  if (boardStatus(board, epochDay(nowMs)) !== 'active') return null;
  const { startDay: runDay } = runShownOn(playedRule(board), dayIn(user?.zone ?? null, nowMs));
  if (board.breakdownAttributes.length === 0) return { runDay, group: '' };
  const group = user === null ? undefined : scoreIn(user, { board: board.no, runDay })?.group;
  return { runDay, group: group === undefined || group === '' ? null : group };
}

/** A place to be read. */
export interface AskedPlace {
  tenantNo: number;
  board: Leaderboard;
  seat: Seat;
  userId: string;
}

/** Rank and value; `null` if the user is not on the board. */
type Place = { rank: number; value: number } | null;

/**
 * Reads current places, in the order of the request. A place that several streams ask for is read once. Takes two round
 * trips, and more if scores change meanwhile. Throws errors of Redis.
 */
export async function readPlaces(redis: Redis, questions: readonly AskedPlace[]): Promise<Place[]> {
  const names = questions.map(({ tenantNo, board, seat, userId }) =>
    JSON.stringify([tenantNo, board.no, seat.runDay, seat.group, userId]),
  );
  const distinct = new Map(names.map((name, index) => [name, questions[index]!]));
  const places = await readDistinct(redis, [...distinct.values()]);
  const byName = new Map([...distinct.keys()].map((name, index) => [name, places[index] ?? null]));
  return names.map((name) => byName.get(name) ?? null);
}

/** How often a place is read whose score changes meanwhile. */
const PLACE_TRIES = 10;

async function readDistinct(redis: Redis, questions: readonly AskedPlace[]): Promise<Place[]> {
  const isTimed = ({ board }: AskedPlace): boolean => board.ties === 'first';
  const others = questions.filter((place) => !isTimed(place));
  const [shared, timed] = await Promise.all([
    readShared(redis, others),
    Promise.all(questions.filter(isTimed).map((place) => readTimed(redis, place))),
  ]);
  return questions.map((place) => (isTimed(place) ? timed : shared).shift() ?? null);
}

async function readTimed(
  redis: Redis,
  { tenantNo, board, seat: { runDay, group }, userId }: AskedPlace,
): Promise<Place> {
  if (group === null) return null;
  const standing = await new LiveStandings(redis, { tenantNo, boardNo: board.no, runDay, group }, board).find(userId);
  return standing?.isOn === true ? { rank: standing.rank, value: standing.score } : null;
}

/** Places on boards on which equal scores share a rank. */
async function readShared(redis: Redis, questions: readonly AskedPlace[]): Promise<Place[]> {
  const keysIn = (part: TenantPart, { board, seat: { runDay, group } }: AskedPlace): string[] =>
    group === null ? [] : [boardKey(part, { boardNo: board.no, runDay, group })];
  const scoresOf = async (of: readonly boolean[]): Promise<unknown[]> => {
    const keys = questions.map((place, index) =>
      of[index] === true ? keysIn(userPart(redis, place.tenantNo, place.userId), place) : [],
    );
    const replies = await each(redis, keys, (pipeline, key, index) => pipeline.zscore(key, questions[index]!.userId));
    return replies.map(([score = null]) => score);
  };
  const places = questions.map((): Place => null);
  let scores = await scoresOf(questions.map(() => true));
  let open = scores.map((score) => score !== null);
  for (let tries = 1; open.includes(true); tries += 1) {
    // A score that rose before the count would be counted above itself.
    const keys = questions.map((place, index) =>
      open[index] === true ? tenantParts(redis, place.tenantNo).flatMap((part) => keysIn(part, place)) : [],
    );
    const [above, after] = await Promise.all([
      each(redis, keys, (pipeline, key, index) => pipeline.zcount(key, `(${String(scores[index])}`, '+inf')),
      scoresOf(open),
    ]);
    const isSure = (index: number): boolean => after[index] === scores[index] || tries === PLACE_TRIES;
    for (const [index, isOpen] of open.entries()) {
      if (!isOpen || !isSure(index)) continue;
      const rank = above[index]!.reduce<number>((sum, count) => sum + Number(count), 1);
      places[index] = placeOf(questions[index]!, { rank, score: Number(scores[index]) });
    }
    open = open.map((isOpen, index) => isOpen && after[index] !== null && !isSure(index));
    scores = after;
  }
  return places;
}

/** The place, if the leaderboard has so many. */
const placeOf = ({ board }: AskedPlace, { rank, score }: { rank: number; score: number }): Place =>
  board.maxParticipants !== null && rank > board.maxParticipants ? null : { rank, value: turned(board, score) };

/** Sends a command for each of the keys of each place. The replies are lists in the same order. */
async function each(
  redis: Redis,
  places: readonly (readonly string[])[],
  command: (pipeline: ReturnType<Redis['pipeline']>, key: string, index: number) => unknown,
): Promise<unknown[][]> {
  const pipelines = new Map<Redis, { pipeline: ReturnType<Redis['pipeline']>; into: [index: number, at: number][] }>();
  for (const [index, keys] of places.entries())
    for (const [at, key] of keys.entries()) {
      const server = connectionOf(redis, shardOfKey(key));
      let sent = pipelines.get(server);
      if (sent === undefined) pipelines.set(server, (sent = { pipeline: server.pipeline(), into: [] }));
      command(sent.pipeline, key, index);
      sent.into.push([index, at]);
    }
  const replies: unknown[][] = places.map(() => []);
  await Promise.all(
    Array.from(pipelines.values(), async ({ pipeline, into }) => {
      for (const [nth, reply] of (await repliesOf(pipeline)).entries()) {
        const [index, at] = into[nth]!;
        replies[index]![at] = reply;
      }
    }),
  );
  return replies;
}
