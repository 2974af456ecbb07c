import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Notification, NotificationType } from '../../domain/notifications/notification.ts';
import type { LivePosition } from '../../redis/live-streams.ts';
import { comparePositions, type OutboxEntry } from '../../redis/outbox.ts';
import { seatedUser } from './tenant-board-reports.ts';
import { EventSample, FeedListeners, reportBoards } from './tenant-listeners.ts';
import { type LiveListener, movedIn, type ReadPosition } from './stream-listener.ts';
import { type BoardMove, type LiveEntry, liveEntry } from './tenant-entries.ts';
import { PendingBoards } from './tenant-boards.ts';

export interface FeedSources {
  catalogs: { get(tenantNo: number): CompiledCatalog | undefined };
  clock: Clock;
  controlShare: () => number;
  /** Called with errors that prevented a report. */
  onProblem: (error: unknown) => void;
}

export interface ReadMove {
  /** The part of the tenant in which it happened, and the entry's position there. */
  part: number;
  position: string;
  move: BoardMove;
}

/** What a feed needs of the reader of a shard. */
interface FollowedTail {
  readonly position: TailPosition;
}

/** A part of a tenant as its feed follows it. */
interface FeedPart<Tail> {
  readonly tail: Tail;
  /** The position up to which changes of boards were reported. */
  boards: string;
  /** The pending changes happened after this position. */
  pendingSince: string;
}

/** Shortest interval between two reports of boards. */
const BOARDS_MS = 250;
/** Pause before the next report, as a multiple of the last one's duration: reports take at most a third of the time. */
const BOARDS_REST = 3;
const MOST_BOARDS_MS = 5_000;
/** Longest interval between comparisons of places: midnights and deletions change places without a move. */
const COMPARE_MS = 5_000;

/** Hands what happens to a tenant to its listeners. Each of the tenant's parts is read by the tail of its shard. */
export class TenantFeed<Tail extends FollowedTail = FollowedTail> {
  readonly tenantNo: number;
  readonly listeners = new FeedListeners();
  private readonly parts: readonly FeedPart<Tail>[];
  private readonly sources: FeedSources;
  private readonly redis: () => Redis;
  private readonly samples = new WeakMap<LiveListener, EventSample>();
  private readonly touched = new Set<LiveListener>();
  private readonly joined = new Set<LiveListener>();
  private pending = new PendingBoards();
  private reportedMs = -Infinity;
  /** When the next report may start, in ms after the start of the last one. */
  private boardsMs = BOARDS_MS;
  private comparedMs = performance.now();
  private reporting = false;

  /**
   * `tails`: those of the tenant's parts, in order, at the positions from which on it receives entries. `redis`: returns a
   * connection for reads of all parts.
   */
  constructor(tenantNo: number, sources: FeedSources, tails: readonly Tail[], redis: () => Redis) {
    this.tenantNo = tenantNo;
    this.sources = sources;
    this.redis = redis;
    this.parts = tails.map((tail) => {
      const { outbox } = tail.position;
      return { tail, boards: outbox, pendingSince: outbox };
    });
  }

  /** Whether it follows these tails. */
  follows(tails: readonly (Tail | undefined)[]): boolean {
    return tails.length === this.parts.length && this.parts.every(({ tail }, part) => tail === tails[part]);
  }

  get tails(): Tail[] {
    return this.parts.map(({ tail }) => tail);
  }

  /** Whether a report of boards is pending or in progress: call `finish` again soon. */
  get isWaiting(): boolean {
    return this.reporting || !this.hasNoBoards;
  }

  private get hasNoBoards(): boolean {
    return this.pending.isEmpty && this.listeners.comparing.size === 0 && this.listeners.late.size === 0;
  }

  /** The position of messages that are sent between two reports of boards. */
  position(): ReadPosition {
    return {
      parts: this.parts.map(({ tail: { position }, boards }) => ({
        outbox: position.outbox,
        announced: position.announced,
        within: null,
        boards,
      })),
      asOfMs: Math.min(...this.parts.map(({ tail }) => tail.position.asOfMs)),
    };
  }

  /** Whether a listener needs the content of an entry. */
  isInteresting({ states }: OutboxEntry): boolean {
    if (this.listeners.wantsAll || this.listeners.followPlaces) return true;
    for (let at = 0; at < states.length; at += 2) if (this.listeners.ofUser(states[at]!.toString('utf8'))) return true;
    // A deleted user leaves no state.
    return states.length === 0;
  }

  /** Reads the parts of an entry that listeners want; `null` if the tenant is gone. */
  read(entry: OutboxEntry): LiveEntry | null {
    const { catalogs, controlShare, onProblem } = this.sources;
    const compiled = catalogs.get(this.tenantNo);
    if (compiled === undefined) return null;
    const wantsUser = (userId: string): boolean =>
      this.listeners.wantsAll || this.listeners.ofUser(userId) !== undefined;
    const wantsType = (type: NotificationType): boolean => this.listeners.wantType(type);
    return liveEntry(entry, { compiled, controlShare: controlShare(), wantsUser, wantsType }, onProblem);
  }

  /** Hands the content of an entry, which its part's tail is reading, to the listeners concerned. */
  report(part: number, happened: LiveEntry): void {
    const { position, notifications, moves, events, users } = happened;
    const before = this.position();
    for (const { no, notification } of notifications)
      for (const listener of this.listeners.of(notification.userId))
        if (!listener.hasRead(part, 'outbox', position))
          this.hand(listener, notification, movedIn(before, part, { outbox: position, within: no }));
    for (const listener of this.listeners.ofEvents) {
      if (listener.hasRead(part, 'outbox', position)) continue;
      for (const event of events) this.sample(listener, event, movedIn(before, part, { outbox: position }));
    }
    if (!this.listeners.followBoards) return;
    for (const move of moves) this.pending.add(move);
    if (happened.hasDeletion) this.pending.everyPlace = true;
    for (const [userId, user] of users)
      for (const listener of this.listeners.ofUser(userId) ?? [])
        if (listener.followsPlaces) listener.user = seatedUser(user.state());
  }

  /** Hands out a notification that did not come from a record, and is the last one that its part's tail read. */
  announce(part: number, notification: Notification): void {
    const at = this.position();
    for (const listener of this.listeners.of(notification.userId))
      if (!listener.hasRead(part, 'announced', at.parts[part]!.announced)) this.hand(listener, notification, at);
  }

  /** Sends what was handed out, and reports boards if it is time. Call it when everything read of a part was handed out. */
  finish(part: number): void {
    for (const listener of this.touched) listener.flush();
    this.touched.clear();
    const nowMs = performance.now();
    if (this.listeners.followPlaces && nowMs - this.comparedMs >= COMPARE_MS) {
      this.comparedMs = nowMs;
      this.pending.everyPlace = true;
    }
    if (this.joined.size > 0) {
      const at = this.tails.map((tail) => tail.position);
      for (const listener of this.joined) if (listener.isLevel(at)) this.joined.delete(listener);
    }
    if (this.reporting) return;
    if (this.hasNoBoards) {
      const own = this.parts[part]!;
      own.boards = own.pendingSince = own.tail.position.outbox;
      return;
    }
    if (nowMs - this.reportedMs < this.boardsMs) return;
    this.reportedMs = nowMs;
    void this.reportBoards();
  }

  /** Reports the pending changes of boards. Reading and sending go on meanwhile. */
  private async reportBoards(): Promise<void> {
    const { clock, catalogs, controlShare, onProblem } = this.sources;
    const compiled = catalogs.get(this.tenantNo);
    if (compiled === undefined) return;
    const reported = this.pending;
    const late = [...this.listeners.late];
    this.pending = new PendingBoards();
    for (const part of this.parts) part.pendingSince = part.tail.position.outbox;
    const upTo = this.parts.map(({ pendingSince }) => pendingSince);
    this.reporting = true;
    try {
      const sources = { redis: this.redis(), compiled, controlShare: controlShare(), nowMs: clock.now() };
      const reports = await reportBoards(sources, this.listeners, reported);
      const before = this.position();
      for (const [index, part] of this.parts.entries()) part.boards = upTo[index]!;
      const after = this.position();
      for (const [listener, unsent] of reports) {
        // The position moves with the last message only, so all are sent at once.
        for (const [index, one] of unsent.entries()) {
          const isLast = index === unsent.length - 1;
          if (isLast) listener.earlier = null;
          listener.put(one, isLast ? after : before);
        }
        listener.earlier = null;
        listener.flush();
      }
      const tookMs = performance.now() - this.reportedMs;
      this.boardsMs = Math.min(Math.max(BOARDS_MS, tookMs * BOARDS_REST), MOST_BOARDS_MS);
    } catch (error) {
      reported.addAll(this.pending);
      this.pending = reported;
      for (const part of this.parts) part.pendingSince = part.boards;
      for (const listener of late) if (this.listeners.all.has(listener)) this.listeners.late.add(listener);
      for (const listener of this.listeners.all) if (listener.followsPlaces) this.listeners.comparing.add(listener);
      onProblem(error);
    } finally {
      this.reporting = false;
    }
  }

  /** Adds a listener that has caught up. `moves`: moves on boards that it read but did not report. */
  join(
    listener: LiveListener,
    { readUpTo, boards, moves }: Readonly<{ readUpTo: LivePosition[]; boards: string[]; moves: ReadMove[] }>,
  ): void {
    listener.ahead = readUpTo;
    this.joined.add(listener);
    // It gets the pending changes of this feed together with the others.
    const own = moves.filter(({ part, position }) => comparePositions(position, this.parts[part]!.pendingSince) <= 0);
    if (own.length > 0) {
      const pending = new PendingBoards();
      for (const { move } of own) pending.add(move);
      listener.earlier = { pending, boards };
    }
    this.listeners.add(listener);
  }

  leave(listener: LiveListener): void {
    this.listeners.delete(listener);
    this.joined.delete(listener);
    this.touched.delete(listener);
  }

  private hand(listener: LiveListener, notification: Notification, at: ReadPosition): void {
    if (listener.take(notification, at)) this.touched.add(listener);
  }

  private sample(listener: LiveListener, event: LiveEntry['events'][number], at: ReadPosition): void {
    let sample = this.samples.get(listener);
    if (sample === undefined) this.samples.set(listener, (sample = new EventSample(listener.grant)));
    const unsent = sample.take(this.sources.catalogs.get(this.tenantNo)!, event);
    if (unsent === null) return;
    listener.put(unsent, at);
    this.touched.add(listener);
  }
}

/** A reader's position, and the time (epoch ms of Redis's clock) at which nothing followed it. */
export type TailPosition = Readonly<LivePosition & { asOfMs: number }>;
