import { readLive, type LivePosition } from '../../redis/live-streams.ts';
import { shardOf } from '../../redis/keys.ts';
import { comparePositions, parseEntry, type RawEntry } from '../../redis/outbox.ts';
import { seatedUser } from './board-report.ts';
import { happenedIn } from './happened.ts';
import type { LiveListener, ReadPosition } from './live-listener.ts';
import { positionBefore } from './message-id.ts';
import { announcedIn, tenantOf } from './shard-tail.ts';
import type { FeedSources, ReadMove } from './tenant-feed.ts';

const ENTRIES_A_READ = 500;

/** From where on a reader that has come so far has to read: of the last entry something may be missing, of boards more. */
export function readFrom({ outbox, within, boards, announced }: ReadPosition): LivePosition {
  const entries = within === null ? outbox : positionBefore(outbox);
  return { outbox: comparePositions(boards, entries) < 0 ? boards : entries, announced };
}

/** Thrown where the shard is not what it was when the reading began. */
export class ShardReplaced extends Error {}

/** Reads by itself, for one listener, what it missed, until it has come as far as those who follow the shard. */
export class CatchUp {
  readonly listener: LiveListener;
  /** What it has heard of. */
  private heard: ReadPosition;
  /** What it has read. */
  readUpTo: LivePosition;
  /** Moves on boards that it has read and not heard of. */
  readonly moves: ReadMove[] = [];
  private readonly sources: FeedSources;
  private readonly mark: string;

  constructor(sources: FeedSources, listener: LiveListener, { from, mark }: { from: ReadPosition; mark: string }) {
    this.sources = sources;
    this.listener = listener;
    this.heard = from;
    this.readUpTo = readFrom(from);
    this.mark = mark;
  }

  /** The position up to which it heard of boards. */
  get boards(): string {
    return this.heard.boards;
  }

  /** Whether it has come as far as others. */
  hasReached(at: LivePosition): boolean {
    return (
      comparePositions(at.outbox, this.readUpTo.outbox) <= 0 &&
      comparePositions(at.announced, this.readUpTo.announced) <= 0
    );
  }

  /** Reads on. `others`: where they are now, so all until then is read or is of other tenants. Errors of Redis, ShardReplaced. */
  async read(others: LivePosition): Promise<void> {
    const { tenantNo } = this.listener.grant;
    const goal = { ...others };
    const asked = { shard: shardOf(tenantNo), after: this.readUpTo, count: ENTRIES_A_READ };
    const { entries, announced, isMore, mark } = await readLive(this.sources.redis, asked);
    if (mark !== this.mark) throw new ShardReplaced();
    for (const raw of entries) {
      if (tenantOf(raw) === tenantNo) this.report(raw);
      this.readUpTo = { ...this.readUpTo, outbox: raw[0].toString('latin1') };
    }
    for (const raw of announced) {
      const position = raw[0].toString('latin1');
      this.readUpTo = { ...this.readUpTo, announced: position };
      const notification = announcedIn(raw);
      this.heard = { ...this.heard, announced: position };
      if (notification?.tenantNo === tenantNo) this.listener.take(notification, this.heard);
    }
    if (!isMore && !this.hasReached(goal)) this.readUpTo = laterOf(this.readUpTo, goal);
    this.listener.flush();
  }

  private report(raw: RawEntry): void {
    const { listener, sources } = this;
    const { userId, tenantNo } = listener.grant;
    const compiled = sources.catalogs.get(tenantNo);
    if (compiled === undefined) return;
    const wantsUser = (id: string): boolean => userId === null || userId === id;
    const wantsType = listener.wantsType.bind(listener);
    const readers = { compiled, controlShare: sources.controlShare(), wantsUser, wantsType };
    const { position, notifications, moves, users } = happenedIn(parseEntry(raw), readers, sources.onProblem);
    const order = comparePositions(position, this.heard.outbox);
    const { within } = this.heard;
    for (const { no, notification } of notifications)
      if (order > 0 || (order === 0 && within !== null && no > within))
        listener.take(notification, { ...this.heard, outbox: position, within: no });
    if (comparePositions(position, this.heard.boards) > 0)
      for (const move of moves) this.moves.push({ position, move });
    const user = userId === null ? undefined : users.get(userId);
    if (user !== undefined && listener.followsPlaces) listener.user = seatedUser(user.state());
    if (order >= 0) this.heard = { ...this.heard, outbox: position, within: null };
  }
}

const laterOf = (a: LivePosition, b: LivePosition): LivePosition => ({
  outbox: comparePositions(a.outbox, b.outbox) < 0 ? b.outbox : a.outbox,
  announced: comparePositions(a.announced, b.announced) < 0 ? b.announced : a.announced,
});
