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
import { type Rounds, rounds } from '../../pacing/rounds.ts';
import { MADE_FROM_RECORDS } from './tenant-entries.ts';
import { positionBefore } from './stream-message-id.ts';
import type { FeedSources, TailPosition, TenantFeed } from './tenant-feed.ts';

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

/** What a tail read last: all entries after a position, up to the tail's. */
export interface LastRead extends Pick<LiveEntries, 'entries' | 'announced'> {
  after: LivePosition;
}

type Feed = TenantFeed<ShardTail>;

/** Reads a shard, when woken, for its tenants with listeners in this process. */
export class ShardTail {
  readonly shard: number;
  /** By tenant number: the feed, and which of its parts this shard holds. */
  private readonly followed = new Map<number, { feed: Feed; part: number }>();
  private readonly sources: FeedSources;
  /** A connection to the shard's server that events do not use. */
  private connection: Redis;
  private readonly onGap: (feed: Feed, why: string) => void;
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
      onGap: (feed: Feed, why: string) => void;
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
  add(feed: Feed, part: number): void {
    this.followed.set(feed.tenantNo, { feed, part });
  }

  /** Ends that. The tenant is no longer read. */
  remove(feed: Feed): void {
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

  private reportEntry({ feed, part }: { feed: Feed; part: number }, raw: RawEntry): void {
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
