import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasReached, type LiveEntries, type LivePosition, readLive } from '../../redis/live-streams.ts';
import { comparePositions, parseEntry, type RawEntry } from '../../redis/outbox.ts';
import { seatedUser } from './tenant-board-reports.ts';
import { type LiveListener, movedIn, type ReadPosition } from './stream-listener.ts';
import { liveEntry } from './tenant-entries.ts';
import { type PartPosition, positionBefore } from './stream-message-id.ts';
import { announcedIn, isBefore, type LastRead, NOT_KEPT, REBUILT, tenantOf } from './shard-tail.ts';
import type { FeedSources, ReadMove } from './tenant-feed.ts';

/** A read of this many takes the process one to two milliseconds. */
const ENTRIES_A_READ = 100;
/** A stream that would have to read more, or for longer, gets a `reset`. */
export const CATCH_UP_BYTES = 4_194_304;
const CATCH_UP_MS = 10_000;
/** After this many characters, the rest waits for the next read, until the client has received these. */
const SENT_CHARACTERS = 262_144;

/** From where on a reader that has come this far in a part must read it. Messages of the last entry, and of boards, may be missing. */
export function readFrom({ outbox, within, boards, announced }: PartPosition): LivePosition {
  const entries = within === null ? outbox : positionBefore(outbox);
  return { outbox: comparePositions(boards, entries) < 0 ? boards : entries, announced };
}

/** Thrown if a stream cannot continue from its position; the message says why. */
export class CatchUpFailed extends Error {}

/** A part of a tenant that a stream follows. */
export interface FollowedPart {
  shard: number;
  /** A connection to the shard's server. */
  redis: Redis;
  /** The shard's mark when the stream began. */
  mark: string;
}

/** Reads what one listener missed, until it has caught up with the others that follow its tenant. */
export class CatchUp {
  readonly listener: LiveListener;
  /** The position up to which the listener was informed. */
  private heard: ReadPosition;
  /** The position up to which this has read each part. */
  readonly readUpTo: LivePosition[];
  /** Moves on boards that were read but not reported to the listener yet. */
  readonly moves: ReadMove[] = [];
  private readonly sources: FeedSources;
  private readonly parts: readonly FollowedPart[];
  private readonly turns: CatchUpTurns | null;
  private readBytes = 0;
  private readonly begunMs = performance.now();

  /** `turns`: for a stream that comes back, which may have missed much; `null` for a new stream. */
  constructor(
    sources: FeedSources,
    listener: LiveListener,
    { from, parts, turns }: { from: ReadPosition; parts: readonly FollowedPart[]; turns: CatchUpTurns | null },
  ) {
    this.turns = turns;
    this.sources = sources;
    this.listener = listener;
    this.heard = from;
    this.readUpTo = from.parts.map(readFrom);
    this.parts = parts;
  }

  /** The position by part up to which the listener was informed about boards. */
  get boards(): string[] {
    return this.heard.parts.map(({ boards }) => boards);
  }

  hasReached(part: number, at: LivePosition): boolean {
    return hasReached(this.readUpTo[part]!, at);
  }

  /**
   * Reads the next entries of a part, and waits for the client to receive them. `goal`: a position that existed before the
   * call. If nothing more is found, everything up to it was read or belongs to other tenants. Throws errors of Redis, and
   * CatchUpFailed.
   */
  async read(part: number, goal: LivePosition): Promise<void> {
    if (this.turns === null) return void (await this.readSome(part, goal));
    if (this.readBytes > CATCH_UP_BYTES || performance.now() - this.begunMs > CATCH_UP_MS)
      throw new CatchUpFailed('too much happened since the last ID');
    await this.turns.read(this.parts[part]!.redis, () => this.readSome(part, goal));
    await this.listener.sink.drained();
  }

  /** Takes the entries that the others read last, unless this lacks entries before them. */
  takeLast(part: number, { after, entries, announced }: LastRead): void {
    if (!this.hasReached(part, after)) return;
    this.take(part, { entries, announced });
    this.listener.flush();
  }

  /** Resolves with the duration (ms) of reporting the entries. */
  private async readSome(part: number, goal: LivePosition): Promise<number> {
    const { redis, shard, mark: begunMark } = this.parts[part]!;
    const range = { shard, after: this.readUpTo[part]!, count: ENTRIES_A_READ };
    const { entries, announced, isMore, mark, floor } = await readLive(redis, range);
    if (mark !== begunMark) throw new CatchUpFailed(REBUILT);
    if (isBefore(range.after, floor)) throw new CatchUpFailed(NOT_KEPT);
    const begunMs = performance.now();
    const isWhole = this.take(part, { entries, announced });
    if (isWhole && !isMore && !this.hasReached(part, goal)) this.readUpTo[part] = laterOf(this.readUpTo[part]!, goal);
    this.listener.flush();
    return performance.now() - begunMs;
  }

  /** Reports those of the entries that follow what was read. Returns false if it stopped early, for the client's sake. */
  private take(part: number, { entries, announced }: Pick<LiveEntries, 'entries' | 'announced'>): boolean {
    const { listener, readUpTo } = this;
    const { tenantNo } = listener.grant;
    for (const raw of entries) {
      const outbox = raw[0].toString('latin1');
      if (comparePositions(outbox, readUpTo[part]!.outbox) <= 0) continue;
      this.readBytes += bytesOf(raw);
      if (tenantOf(raw) === tenantNo) this.report(part, raw);
      readUpTo[part] = { ...readUpTo[part]!, outbox };
      if (this.turns !== null && listener.queuedCharacters >= SENT_CHARACTERS) return false;
    }
    for (const raw of announced) {
      const position = raw[0].toString('latin1');
      if (comparePositions(position, readUpTo[part]!.announced) <= 0) continue;
      this.readBytes += bytesOf(raw);
      readUpTo[part] = { ...readUpTo[part]!, announced: position };
      const notification = announcedIn(raw);
      this.heard = movedIn(this.heard, part, { announced: position });
      if (notification?.tenantNo === tenantNo) listener.take(notification, this.heard);
    }
    return true;
  }

  private report(part: number, raw: RawEntry): void {
    const { listener, sources } = this;
    const { userId, tenantNo } = listener.grant;
    const compiled = sources.catalogs.get(tenantNo);
    if (compiled === undefined) return;
    const wantsUser = (id: string): boolean => userId === null || userId === id;
    const wantsType = listener.wantsType.bind(listener);
    const readers = { compiled, controlShare: sources.controlShare(), wantsUser, wantsType };
    const { position, notifications, moves, users } = liveEntry(parseEntry(raw), readers, sources.onProblem);
    const { outbox, within, boards } = this.heard.parts[part]!;
    const order = comparePositions(position, outbox);
    for (const { no, notification } of notifications)
      if (order > 0 || (order === 0 && within !== null && no > within))
        listener.take(notification, movedIn(this.heard, part, { outbox: position, within: no }));
    if (comparePositions(position, boards) > 0) for (const move of moves) this.moves.push({ part, position, move });
    const user = userId === null ? undefined : users.get(userId);
    if (user !== undefined && listener.followsPlaces) listener.user = seatedUser(user.state());
    if (order >= 0) this.heard = movedIn(this.heard, part, { outbox: position, within: null });
  }
}

const bytesOf = ([, fields]: RawEntry): number => fields.reduce((bytes, field) => bytes + field.length, 0);

/** The later position of each of the two streams. */
export const laterOf = (a: LivePosition, b: LivePosition): LivePosition => ({
  outbox: comparePositions(a.outbox, b.outbox) < 0 ? b.outbox : a.outbox,
  announced: comparePositions(a.announced, b.announced) < 0 ? b.announced : a.announced,
});

/** Runs one task at a time for each name, in the order of the calls. */
class Turns<Name> {
  private readonly last = new Map<Name, Promise<void>>();

  async run(name: Name, work: () => Promise<void>): Promise<void> {
    const turn = (this.last.get(name) ?? Promise.resolve()).then(work);
    const ended = turn.catch(() => undefined);
    this.last.set(name, ended);
    await ended;
    if (this.last.get(name) === ended) this.last.delete(name);
    return turn;
  }
}

/** After a read, catch-ups rest for this multiple of its duration, so they take at most a third of the process's time. */
const REST = 2;

/** Schedules catch-ups: one stream of a holder at a time, all in turns, so that requests keep most of the time. */
export class CatchUpTurns {
  private readonly holders = new Turns<string>();
  private readonly reads = new Turns<unknown>();

  /** Runs a catch-up after the earlier ones of the same holder. */
  ofHolder(holder: string, catchUp: () => Promise<void>): Promise<void> {
    return this.holders.run(holder, catchUp);
  }

  /** Runs one read of a catch-up. `read` resolves with the milliseconds that it occupied the process. */
  read(server: unknown, read: () => Promise<number>): Promise<void> {
    return this.reads.run(server, async () => {
      const workedMs = await read();
      await sleep(workedMs * REST, undefined, { ref: false });
    });
  }
}
