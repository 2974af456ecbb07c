import type { Redis } from 'ioredis';
import type { NotificationType } from '../../domain/notifications/notification.ts';
import {
  gapAfter,
  listenLive,
  type LiveEntries,
  type LivePosition,
  parseAnnounced,
  readLive,
} from '../../redis/live-streams.ts';
import { comparePositions, parseEntry, type RawEntry } from '../../redis/outbox.ts';
import { rounds, type Rounds } from '../../rounds.ts';
import { positionBefore } from './message-id.ts';
import { type FeedSources, TenantFeed } from './tenant-feed.ts';
import type { LiveListener } from './live-listener.ts';

/** Shortest interval between two reads of a shard. The first signal after a pause starts a read at once. */
const READ_MS = 40;
const RETRY_MS = 250;
/** How often a process renews its registration as a listener. */
const LISTEN_MS = 30_000;
const ENTRIES_A_READ = 500;

/** Announced types that live streams build from records instead. */
const FROM_RECORDS: ReadonlySet<NotificationType> = new Set([
  'achievement.completed',
  'streak.started',
  'streak.extended',
  'streak.lost',
  'streak.freeze_consumed',
  'streak.freeze_earned',
  'points.changed',
  'points.level_changed',
  'leaderboard.changed',
  'leaderboard.rank_changed',
]);

/** A reader's position, and the time (epoch ms of Redis's clock) at which nothing followed it. */
export type TailPosition = Readonly<LivePosition & { asOfMs: number }>;

/** Reads a shard, when woken, for its tenants with listeners in this process. */
export class ShardTail {
  readonly shard: number;
  readonly feeds = new Map<number, TenantFeed>();
  private readonly sources: FeedSources;
  private readonly onGap: (listener: LiveListener, why: string) => void;
  private readonly connect: () => Promise<Redis>;
  private at: TailPosition;
  /** The mark of the data that it reads. */
  readonly mark: string;
  /** Redis's clock minus this process's. */
  private offsetMs: number;
  private listenedMs = performance.now();
  private readMs = -Infinity;
  private stopped = false;
  private readonly reading: Rounds;

  /**
   * Starts at the position of `begin`. `offsetMs`: Redis's clock minus `performance.now()`. `onGap`: called with a
   * listener that was removed because the entries after its position cannot be read. `connect`: returns a connection to
   * the shard's current server.
   */
  constructor(
    shard: number,
    sources: FeedSources,
    begin: {
      at: TailPosition;
      offsetMs: number;
      mark: string;
      onGap: (listener: LiveListener, why: string) => void;
      connect: () => Promise<Redis>;
    },
  ) {
    this.shard = shard;
    this.sources = sources;
    this.at = begin.at;
    this.mark = begin.mark;
    this.onGap = begin.onGap;
    this.connect = begin.connect;
    this.offsetMs = begin.offsetMs;
    this.reading = rounds(() => this.round());
  }

  get position(): TailPosition {
    return this.at;
  }

  /** The tenant's feed, created if necessary. */
  feed(tenantNo: number): TenantFeed {
    let feed = this.feeds.get(tenantNo);
    if (feed === undefined) this.feeds.set(tenantNo, (feed = new TenantFeed(tenantNo, this.sources, this.at)));
    return feed;
  }

  /** Removes a listener. A tenant without listeners is no longer read. */
  leave(listener: LiveListener): void {
    const feed = this.feeds.get(listener.grant.tenantNo);
    feed?.leave(listener);
    if (feed?.listeners.isEmpty === true) this.feeds.delete(listener.grant.tenantNo);
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
    return [...this.feeds.values()].some((feed) => feed.isWaiting) ? READ_MS : Infinity;
  }

  /** Reads and reports new entries. Returns true if there are more. */
  private async read(): Promise<boolean> {
    const redis = await this.connect();
    if (redis !== this.sources.redis) await this.moveTo(redis);
    const askedMs = performance.now();
    if (askedMs - this.listenedMs >= LISTEN_MS) await this.listenAgain();
    const found = await readLive(this.sources.redis, { shard: this.shard, after: this.at, count: ENTRIES_A_READ });
    if (this.stopped) return false;
    // The state of a shard that is being rebuilt is unknown.
    if (found.mark === null) return false;
    if (found.mark !== this.mark || isBefore(this.at, found.floor)) {
      this.letGo([...this.feeds.values()], found.mark === this.mark ? NOT_KEPT : REBUILT);
      return false;
    }
    this.report(found);
    if (!found.isMore) this.at = { ...this.at, asOfMs: Math.floor(askedMs + this.offsetMs) };
    for (const feed of this.feeds.values()) feed.finish(this.at);
    return found.isMore;
  }

  private report({ entries, announced }: LiveEntries): void {
    for (const raw of entries) {
      const position = raw[0].toString('latin1');
      const feed = this.feeds.get(tenantOf(raw));
      if (feed !== undefined) this.reportEntry(feed, raw);
      this.at = { ...this.at, outbox: position };
    }
    for (const raw of announced) {
      this.at = { ...this.at, announced: raw[0].toString('latin1') };
      const notification = announcedIn(raw);
      const feed = notification === null ? undefined : this.feeds.get(notification.tenantNo);
      if (feed !== undefined) feed.announce(notification!, feed.position(this.at));
    }
  }

  private reportEntry(feed: TenantFeed, raw: RawEntry): void {
    try {
      const entry = parseEntry(raw);
      const happened = feed.isInteresting(entry) ? feed.read(entry) : null;
      if (happened !== null) feed.report(happened, feed.position(this.at));
    } catch (error) {
      // The persister quarantines such an entry; nobody reports it.
      this.sources.onProblem(error);
    }
  }

  /** Continues on the shard's current server in the cluster, which has its streams and marks. */
  private async moveTo(redis: Redis): Promise<void> {
    this.sources.redis = redis;
    await this.listenAgain();
  }

  private async listenAgain(): Promise<void> {
    const listeners = [...this.feeds.values()].map((feed) => ({ tenantNo: feed.tenantNo, ...feed.listeners.whom }));
    const { nowMs, since } = await listenLive(this.sources.redis, this.shard, listeners);
    this.listenedMs = performance.now();
    this.offsetMs = nowMs - this.listenedMs;
    for (const [index, { tenantNo }] of listeners.entries()) {
      const feed = this.feeds.get(tenantNo);
      const gap = gapAfter({ position: this.at, asOfMs: this.at.asOfMs }, { nowMs, since: since[index]! });
      if (feed !== undefined && gap !== null) this.letGo([feed], gap);
    }
  }

  private letGo(feeds: readonly TenantFeed[], why: string): void {
    for (const feed of feeds)
      for (const listener of feed.listeners.all) {
        this.leave(listener);
        this.onGap(listener, why);
      }
  }
}

/** Reasons for a `reset`. */
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
