/** The feed of a tenant: its listeners, and the events that they sample. */
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { Notification, NotificationType } from '../../domain/notifications/notification.ts';
import { uuidText } from '../../domain/schemas.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { TOTAL } from '../../packed/user-fields.ts';
import { comparePositions, type OutboxEntry } from '../../redis/outbox.ts';
import { seatedUser } from './board-report.ts';
import { FeedListeners, reportBoards } from './feed-listeners.ts';
import type { LiveGrant } from './grants.ts';
import type { LiveListener, ReadPosition, Unsent } from './live-listener.ts';
import { type BoardMove, type Happened, happenedIn } from './live-notifications.ts';
import { PendingBoards } from './pending-boards.ts';

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

export interface FeedSources {
  /** A connection that events do not use. */
  redis: Redis;
  catalogs: { get(tenantNo: number): CompiledCatalog | undefined };
  clock: Clock;
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: () => number;
  /** Called with errors that prevented a report. */
  onProblem: (error: unknown) => void;
}

/** A move on a board, with the position of its entry. */
export interface ReadMove {
  position: string;
  move: BoardMove;
}

/** The position of a feed's reader. */
type FeedPosition = Readonly<Omit<ReadPosition, 'boards' | 'within'>>;

/** Shortest interval between two reports of boards. */
const BOARDS_MS = 250;
/**
 * The next report follows after this multiple of the last one's duration, at most `MOST_BOARDS_MS`. So reports take at
 * most a third of the time, even if one user's changing score affects all streams of a board.
 */
const BOARDS_REST = 3;
const MOST_BOARDS_MS = 5_000;
/** Longest interval between comparisons of places: midnights and deletions change places without a move. */
const COMPARE_MS = 5_000;

/** The listeners of a tenant in this process, and their pending reports. */
export class TenantFeed {
  readonly tenantNo: number;
  readonly listeners = new FeedListeners();
  private readonly sources: FeedSources;
  private readonly samples = new WeakMap<LiveListener, EventSample>();
  private readonly touched = new Set<LiveListener>();
  private readonly joined = new Set<LiveListener>();
  private pending = new PendingBoards();
  /** The pending changes happened after this position. */
  private pendingSince: string;
  /** The position up to which changes of boards were reported. */
  private boards: string;
  /** The position up to which everything was handed out and sent. */
  private sent: FeedPosition;
  private reportedMs = -Infinity;
  /** When the next report may start, in ms after the start of the last one. */
  private boardsMs = BOARDS_MS;
  private comparedMs = performance.now();
  private reporting = false;

  /** @param at the position from which on it receives entries */
  constructor(tenantNo: number, sources: FeedSources, at: FeedPosition) {
    this.tenantNo = tenantNo;
    this.sources = sources;
    this.sent = at;
    this.boards = at.outbox;
    this.pendingSince = at.outbox;
  }

  /** Whether a report of boards is pending or in progress: call `finish` again soon. */
  get isWaiting(): boolean {
    return this.reporting || !this.hasNoBoards;
  }

  private get hasNoBoards(): boolean {
    return this.pending.isEmpty && this.listeners.comparing.size === 0 && this.listeners.late.size === 0;
  }

  /** The position of messages that are sent between two reports of boards. */
  position(at: FeedPosition): ReadPosition {
    return { ...at, within: null, boards: this.boards };
  }

  /** Whether a listener needs the content of an entry. */
  isInteresting({ states }: OutboxEntry): boolean {
    if (this.listeners.wantsAll || this.listeners.followPlaces) return true;
    for (let at = 0; at < states.length; at += 2) if (this.listeners.ofUser(states[at]!.toString('utf8'))) return true;
    // A deleted user leaves no state.
    return states.length === 0;
  }

  /** Reads the parts of an entry that listeners want; `null` if the tenant is gone. */
  read(entry: OutboxEntry): Happened | null {
    const { catalogs, controlShare, onProblem } = this.sources;
    const compiled = catalogs.get(this.tenantNo);
    if (compiled === undefined) return null;
    const wantsUser = (userId: string): boolean =>
      this.listeners.wantsAll || this.listeners.ofUser(userId) !== undefined;
    const wantsType = (type: NotificationType): boolean => this.listeners.wantType(type);
    return happenedIn(entry, { compiled, controlShare: controlShare(), wantsUser, wantsType }, onProblem);
  }

  /** Hands an entry's content to the listeners concerned. `at`: the reader's position before the entry. */
  report(happened: Happened, at: ReadPosition): void {
    const { position, notifications, moves, events, users } = happened;
    for (const { no, notification } of notifications)
      for (const listener of this.listeners.of(notification.userId))
        if (!listener.hasRead('outbox', position))
          this.hand(listener, notification, { ...at, outbox: position, within: no });
    for (const listener of this.listeners.ofEvents) {
      if (listener.hasRead('outbox', position)) continue;
      for (const event of events) this.sample(listener, event, { ...at, outbox: position });
    }
    if (!this.listeners.followBoards) return;
    for (const move of moves) this.pending.add(move);
    if (happened.hasDeletion) this.pending.everyPlace = true;
    for (const [userId, user] of users)
      for (const listener of this.listeners.ofUser(userId) ?? [])
        if (listener.followsPlaces) listener.user = seatedUser(user.state());
  }

  /** Hands out a notification that did not come from a record. */
  announce(notification: Notification, at: ReadPosition): void {
    for (const listener of this.listeners.of(notification.userId))
      if (!listener.hasRead('announced', at.announced)) this.hand(listener, notification, at);
  }

  /** Sends what was handed out, and reports boards if it is time. Call it when everything read has been handed out. */
  finish(at: FeedPosition): void {
    for (const listener of this.touched) listener.flush();
    this.touched.clear();
    this.sent = at;
    const nowMs = performance.now();
    if (this.listeners.followPlaces && nowMs - this.comparedMs >= COMPARE_MS) {
      this.comparedMs = nowMs;
      this.pending.everyPlace = true;
    }
    for (const listener of this.joined) if (listener.isLevel(at)) this.joined.delete(listener);
    if (this.reporting) return;
    if (this.hasNoBoards) {
      this.boards = this.pendingSince = at.outbox;
      return;
    }
    if (nowMs - this.reportedMs < this.boardsMs) return;
    this.reportedMs = nowMs;
    void this.reportBoards(at);
  }

  /** Reports pending changes of boards up to a position. Reading and sending go on meanwhile. */
  private async reportBoards(at: FeedPosition): Promise<void> {
    const { redis, clock, catalogs, controlShare, onProblem } = this.sources;
    const compiled = catalogs.get(this.tenantNo);
    if (compiled === undefined) return;
    const reported = this.pending;
    const late = [...this.listeners.late];
    this.pending = new PendingBoards();
    this.pendingSince = at.outbox;
    this.reporting = true;
    try {
      const sources = { redis, compiled, controlShare: controlShare(), nowMs: clock.now() };
      const made = await reportBoards(sources, this.listeners, reported);
      const before = this.position(this.sent);
      this.boards = at.outbox;
      for (const [listener, unsent] of made) {
        // The position moves with the last message only, so all are sent at once.
        for (const [index, one] of unsent.entries()) {
          const isLast = index === unsent.length - 1;
          if (isLast) listener.earlier = null;
          listener.put(one, isLast ? { ...before, boards: at.outbox } : before);
        }
        listener.earlier = null;
        listener.flush();
      }
      const tookMs = performance.now() - this.reportedMs;
      this.boardsMs = Math.min(Math.max(BOARDS_MS, tookMs * BOARDS_REST), MOST_BOARDS_MS);
    } catch (error) {
      reported.addAll(this.pending);
      this.pending = reported;
      this.pendingSince = this.boards;
      for (const listener of late) if (this.listeners.all.has(listener)) this.listeners.late.add(listener);
      for (const listener of this.listeners.all) if (listener.followsPlaces) this.listeners.comparing.add(listener);
      onProblem(error);
    } finally {
      this.reporting = false;
    }
  }

  /**
   * Adds a listener that read on its own and has caught up. From now on this feed informs it. `moves`: moves on boards
   * that it read but did not report.
   */
  join(
    listener: LiveListener,
    { readUpTo, boards, moves }: { readUpTo: { outbox: string; announced: string }; boards: string; moves: ReadMove[] },
  ): void {
    listener.ahead = readUpTo;
    this.joined.add(listener);
    // It gets the pending changes of this feed together with the others.
    const own = moves.filter(({ position }) => comparePositions(position, this.pendingSince) <= 0);
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

  private sample(listener: LiveListener, event: Happened['events'][number], at: ReadPosition): void {
    let sample = this.samples.get(listener);
    if (sample === undefined) this.samples.set(listener, (sample = new EventSample(listener.grant)));
    const unsent = sample.take(this.sources.catalogs.get(this.tenantNo)!, event);
    if (unsent === null) return;
    listener.put(unsent, { ...at, within: null });
    this.touched.add(listener);
  }
}
