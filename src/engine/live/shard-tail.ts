import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Notification, NotificationType } from '../../domain/notifications/notification.ts';
import {
  gapAfter,
  listenLive,
  type LiveEntries,
  type LivePosition,
  parseAnnounced,
  readLive,
} from '../../redis/live-streams.ts';
import { comparePositions, type OutboxEntry, parseEntry, type RawEntry } from '../../redis/outbox.ts';
import { rounds, type Rounds } from '../../rounds.ts';
import { seatedUser } from './board-report.ts';
import { EventSample, FeedListeners, reportBoards } from './feed-listeners.ts';
import { type LiveListener, movedIn, type ReadPosition } from './live-listener.ts';
import { type BoardMove, type LiveEntry, liveEntry, MADE_FROM_RECORDS } from './live-notifications.ts';
import { positionBefore } from './message-id.ts';
import { PendingBoards } from './pending-boards.ts';

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

/** A part of a tenant as its feed follows it. */
interface FeedPart {
  readonly tail: ShardTail;
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
export class TenantFeed {
  readonly tenantNo: number;
  readonly listeners = new FeedListeners();
  private readonly parts: readonly FeedPart[];
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
  constructor(tenantNo: number, sources: FeedSources, tails: readonly ShardTail[], redis: () => Redis) {
    this.tenantNo = tenantNo;
    this.sources = sources;
    this.redis = redis;
    this.parts = tails.map((tail) => {
      const { outbox } = tail.position;
      return { tail, boards: outbox, pendingSince: outbox };
    });
  }

  /** Whether it follows these tails. */
  follows(tails: readonly (ShardTail | undefined)[]): boolean {
    return tails.length === this.parts.length && this.parts.every(({ tail }, part) => tail === tails[part]);
  }

  get tails(): ShardTail[] {
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

/** Shortest interval between two reads of a shard. The first signal after a pause starts a read at once. */
const READ_MS = 40;
const RETRY_MS = 250;
/** How often a process renews its registration as a listener. */
const LISTEN_MS = 30_000;
const ENTRIES_A_READ = 500;

/** Announced types that live streams build from records instead. */
const FROM_RECORDS: ReadonlySet<NotificationType> = new Set([
  ...MADE_FROM_RECORDS,
  'leaderboard.changed',
  'leaderboard.rank_changed',
]);

/** A reader's position, and the time (epoch ms of Redis's clock) at which nothing followed it. */
type TailPosition = Readonly<LivePosition & { asOfMs: number }>;

/** What a tail read last: all entries after a position, up to the tail's. */
export interface LastRead extends Pick<LiveEntries, 'entries' | 'announced'> {
  after: LivePosition;
}

/** Reads a shard, when woken, for its tenants with listeners in this process. */
export class ShardTail {
  readonly shard: number;
  /** By tenant number: the feed, and which of its parts this shard holds. */
  private readonly followed = new Map<number, { feed: TenantFeed; part: number }>();
  private readonly sources: FeedSources;
  /** A connection to the shard's server that events do not use. */
  private connection: Redis;
  private readonly onGap: (feed: TenantFeed, why: string) => void;
  private readonly connect: () => Promise<Redis>;
  private at: TailPosition;
  private last: LastRead | null = null;
  readonly mark: string;
  /** Redis's clock minus this process's. */
  private offsetMs: number;
  private listenedMs = performance.now();
  private readMs = -Infinity;
  private stopped = false;
  private readonly reading: Rounds;

  /**
   * Starts at the position of `begin`. `offsetMs`: Redis's clock minus `performance.now()`. `onGap`: called with a feed
   * that must be removed because the entries after its position cannot be read. `connect`: returns a connection to the
   * shard's current server.
   */
  constructor(
    shard: number,
    sources: FeedSources,
    begin: {
      redis: Redis;
      at: TailPosition;
      offsetMs: number;
      mark: string;
      onGap: (feed: TenantFeed, why: string) => void;
      connect: () => Promise<Redis>;
    },
  ) {
    this.shard = shard;
    this.sources = sources;
    this.connection = begin.redis;
    this.at = begin.at;
    this.mark = begin.mark;
    this.onGap = begin.onGap;
    this.connect = begin.connect;
    this.offsetMs = begin.offsetMs;
    this.reading = rounds(() => this.round());
  }

  get redis(): Redis {
    return this.connection;
  }

  get position(): TailPosition {
    return this.at;
  }

  /** The entries up to its position that the last read found. */
  get lastRead(): LastRead | null {
    return this.last;
  }

  get isIdle(): boolean {
    return this.followed.size === 0;
  }

  /** Hands the entries of a tenant to a feed. `part`: which of the tenant's parts the shard holds. */
  add(feed: TenantFeed, part: number): void {
    this.followed.set(feed.tenantNo, { feed, part });
  }

  /** Ends that. The tenant is no longer read. */
  remove(feed: TenantFeed): void {
    if (this.followed.get(feed.tenantNo)?.feed === feed) this.followed.delete(feed.tenantNo);
  }

  /** Call it when there may be something to read. */
  wake(): void {
    this.reading.wake(Math.max(0, this.readMs + READ_MS - performance.now()));
  }

  stop(): void {
    this.stopped = true;
    void this.reading.close();
  }

  private async round(): Promise<number> {
    this.readMs = performance.now();
    try {
      if (await this.read()) return 0;
    } catch (error) {
      if (this.stopped) return Infinity;
      this.sources.onProblem(error);
      return RETRY_MS;
    }
    // One tail is enough to call a feed.
    return [...this.followed.values()].some(({ feed, part }) => part === 0 && feed.isWaiting) ? READ_MS : Infinity;
  }

  /** Reads and reports new entries. Returns true if there are more. */
  private async read(): Promise<boolean> {
    const redis = await this.connect();
    if (redis !== this.connection) await this.moveTo(redis);
    const askedMs = performance.now();
    if (askedMs - this.listenedMs >= LISTEN_MS) await this.listenAgain();
    const page = await readLive(this.connection, { shard: this.shard, after: this.at, count: ENTRIES_A_READ });
    if (this.stopped) return false;
    // The state of a shard that is being rebuilt is unknown.
    if (page.mark === null) return false;
    if (page.mark !== this.mark || isBefore(this.at, page.floor)) {
      for (const { feed } of this.followed.values()) this.onGap(feed, page.mark === this.mark ? NOT_KEPT : REBUILT);
      return false;
    }
    this.report(page);
    if (!page.isMore) this.at = { ...this.at, asOfMs: Math.floor(askedMs + this.offsetMs) };
    for (const { feed, part } of this.followed.values()) feed.finish(part);
    return page.isMore;
  }

  private report({ entries, announced }: LiveEntries): void {
    if (entries.length > 0 || announced.length > 0) this.last = { after: this.at, entries, announced };
    for (const raw of entries) {
      const position = raw[0].toString('latin1');
      const followed = this.followed.get(tenantOf(raw));
      if (followed !== undefined) this.reportEntry(followed, raw);
      this.at = { ...this.at, outbox: position };
    }
    for (const raw of announced) {
      this.at = { ...this.at, announced: raw[0].toString('latin1') };
      const notification = announcedIn(raw);
      const followed = notification === null ? undefined : this.followed.get(notification.tenantNo);
      if (followed !== undefined) followed.feed.announce(followed.part, notification!);
    }
  }

  private reportEntry({ feed, part }: { feed: TenantFeed; part: number }, raw: RawEntry): void {
    try {
      const entry = parseEntry(raw);
      const happened = feed.isInteresting(entry) ? feed.read(entry) : null;
      if (happened !== null) feed.report(part, happened);
    } catch (error) {
      // The persister quarantines such an entry; nobody reports it.
      this.sources.onProblem(error);
    }
  }

  /** Continues on the shard's current server in the cluster, which has its streams and marks. */
  private async moveTo(redis: Redis): Promise<void> {
    this.connection = redis;
    await this.listenAgain();
  }

  private async listenAgain(): Promise<void> {
    const followed = [...this.followed.values()];
    const listeners = followed.map(({ feed }) => ({ tenantNo: feed.tenantNo, ...feed.listeners.whom }));
    const { nowMs, since } = await listenLive(this.connection, this.shard, listeners);
    this.listenedMs = performance.now();
    this.offsetMs = nowMs - this.listenedMs;
    for (const [index, { feed }] of followed.entries()) {
      const gap = gapAfter({ position: this.at, asOfMs: this.at.asOfMs }, nowMs, since[index]!);
      if (this.followed.get(feed.tenantNo)?.feed === feed && gap !== null) this.onGap(feed, gap);
    }
  }
}

export const REBUILT = 'Redis was rebuilt';
export const NOT_KEPT = 'the messages after the position are no longer kept';

/** Whether entries after a position may have been dropped. `floor`: the position from which all are kept. */
export const isBefore = (at: LivePosition, floor: LivePosition): boolean =>
  comparePositions(at.outbox, positionBefore(floor.outbox)) < 0 ||
  comparePositions(at.announced, positionBefore(floor.announced)) < 0;

/** The tenant of an entry; NaN if the entry does not say. */
export const tenantOf = ([, fields]: RawEntry): number => Number(fields[1]?.toString('latin1'));

/** The notification of an announced entry that live streams report; `null` if there is none. */
export function announcedIn(raw: RawEntry): NonNullable<ReturnType<typeof parseAnnounced>>['notification'] | null {
  const parsed = parseAnnounced(raw);
  return parsed === null || FROM_RECORDS.has(parsed.notification.type) ? null : parsed.notification;
}
