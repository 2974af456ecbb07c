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

/** Shortest time between two reads of a shard. The first signal after a pause is followed by a read at once. */
const READ_MS = 40;
const RETRY_MS = 250;
/** How often it is said that somebody listens. */
const LISTEN_MS = 30_000;
const ENTRIES_A_READ = 500;

/** What is announced of what records say too; live streams report it from the records. */
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

/** How far a reader has come, and when (by Redis's clock, epoch ms) that was all. */
export type TailPosition = Readonly<LivePosition & { asOfMs: number }>;

/** Reads a shard, when woken, for the tenants on it that have listeners in this process. */
export class ShardTail {
  readonly shard: number;
  readonly feeds = new Map<number, TenantFeed>();
  private readonly sources: FeedSources;
  private readonly onGap: (listener: LiveListener, why: string) => void;
  private readonly connect: () => Promise<Redis>;
  private at: TailPosition;
  /** Whose data it reads. */
  readonly mark: string;
  /** Redis's clock less this process's. */
  private offsetMs: number;
  private listenedMs = performance.now();
  private readMs = -Infinity;
  private stopped = false;
  private readonly reading: Rounds;

  /**
   * Begins where `begin` says. `offsetMs`: Redis's clock less `performance.now()`. `onGap`: what follows cannot be read; the listener
   * has been let go of. `connect`: a connection to the server that holds the shard now.
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

  /** The tenant's feed, which there is from now on. */
  feed(tenantNo: number): TenantFeed {
    let feed = this.feeds.get(tenantNo);
    if (feed === undefined) this.feeds.set(tenantNo, (feed = new TenantFeed(tenantNo, this.sources, this.at)));
    return feed;
  }

  /** Lets go of a listener; a tenant without any is read no more. */
  leave(listener: LiveListener): void {
    const feed = this.feeds.get(listener.grant.tenantNo);
    feed?.leave(listener);
    if (feed?.listeners.isEmpty === true) this.feeds.delete(listener.grant.tenantNo);
  }

  /** There may be something to read. */
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

  /** Reads and reports what there is. True: there is more. */
  private async read(): Promise<boolean> {
    const redis = await this.connect();
    if (redis !== this.sources.redis) await this.moveTo(redis);
    const askedMs = performance.now();
    if (askedMs - this.listenedMs >= LISTEN_MS) await this.listenAgain();
    const found = await readLive(this.sources.redis, { shard: this.shard, after: this.at, count: ENTRIES_A_READ });
    if (this.stopped) return false;
    // Nothing is known of a shard that is being rebuilt.
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
      // The persister sets such an entry aside: it is reported by nobody.
      this.sources.onProblem(error);
    }
  }

  /** Goes on where the cluster serves the shard now, which has its streams and marks. */
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

/** Why streams get a `reset`. */
export const REBUILT = 'Redis was rebuilt';
export const NOT_KEPT = 'what followed the position is not kept';

/** Whether something may have been let go of that followed a position. `floor`: from where on all is kept. */
export const isBefore = (at: LivePosition, floor: LivePosition): boolean =>
  comparePositions(at.outbox, positionBefore(floor.outbox)) < 0 ||
  comparePositions(at.announced, positionBefore(floor.announced)) < 0;

/** Who an entry is of; NaN: it does not say. */
export const tenantOf = ([, fields]: RawEntry): number => Number(fields[1]?.toString('latin1'));

/** What an announced entry holds that live streams report; null: nothing. */
export function announcedIn(raw: RawEntry): NonNullable<ReturnType<typeof parseAnnounced>>['notification'] | null {
  const parsed = parseAnnounced(raw);
  return parsed === null || FROM_RECORDS.has(parsed.notification.type) ? null : parsed.notification;
}
