import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { AppError } from '../../errors.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { redisReady } from '../../redis/client.ts';
import { connectionOf, isOfCluster, noteRoot } from '../../redis/endpoints.ts';
import { isConverting, knownParts, packedUser, TenantConverting } from '../../redis/parts.ts';
import { markKey } from '../../redis/keys.ts';
import { gapAfter, type Listened, listenLive } from '../../redis/live-streams.ts';
import { comparePositions } from '../../redis/outbox.ts';
import type { Signals } from '../../redis/signals.ts';
import { type BoardSources, comparePlaces, presentState, seatedUser } from './tenant-board-reports.ts';
import { CatchUp, CatchUpFailed, CatchUpTurns, type FollowedPart, laterOf, readFrom } from './shard-catch-up.ts';
import { holderOf } from './stream-grants.ts';
import { HEARTBEAT_S } from './stream-sink.ts';
import type { LiveListener, ReadPosition } from './stream-listener.ts';
import { digestOf, type ParsedId } from './stream-message-id.ts';
import { REBUILT, ShardTail } from './shard-tail.ts';
import { type FeedSources, TenantFeed } from './tenant-feed.ts';

/** Where a listener starts: now; after the message with an ID; or now, with a message that it missed something. */
export type BeginFrom = ParsedId | 'start' | 'unknown' | { gap: string };

interface BeginPart extends FollowedPart {
  listened: Listened;
  /** Redis's clock minus `performance.now()`. */
  offsetMs: number;
}

type TailSources = Omit<FeedSources, 'catalogs'> & {
  /** Only duplicated: shards are read on separate connections, opened with the first listener. */
  redis: Redis;
  catalogs: FeedSources['catalogs'] & { of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog> };
  signals: Pick<Signals, 'listen'>;
};

/** Interval between unconditional reads of each shard, in case a signal is lost. */
const BACKSTOP_MS = 1_000;

export class Tails {
  private readonly options: TailSources;
  /** By shard. */
  private readonly tails = new Map<number, ShardTail>();
  /** By tenant number. */
  private readonly feeds = new Map<number, TenantFeed<ShardTail>>();
  private readonly turns = new CatchUpTurns();
  private readonly connecting = new Map<Redis, Promise<Redis>>();
  private readonly connections = new Set<Redis>();
  private stopListening: (() => void) | null = null;

  constructor(options: TailSources) {
    this.options = options;
  }

  /** The same as `begin`, but a stream that comes back waits until earlier ones of the same holder have caught up. */
  async beginInTurn(listener: LiveListener, from: BeginFrom): Promise<void> {
    if (typeof from === 'string' || 'gap' in from) return this.begin(listener, from);
    await this.turns.ofHolder(holderOf(listener.grant), async () => {
      if (!listener.closed) await this.begin(listener, from);
    });
  }

  /**
   * Starts a listener. Its first message says where it is, or that it missed something and what holds now. Then it gets
   * the messages that it missed, and follows the shards of its tenant. Throws errors of Redis and Postgres, and an error if
   * a shard is incomplete.
   */
  async begin(listener: LiveListener, from: BeginFrom): Promise<void> {
    const { tenantNo } = listener.grant;
    const { redis: root, catalogs } = this.options;
    if (isConverting(root, tenantNo)) throw new TenantConverting();
    const [compiled, parts] = await Promise.all([
      catalogs.of(tenantNo),
      Promise.all(knownParts(root, tenantNo).map(({ shard }) => this.beginPart(listener, shard))),
    ]);
    listener.digest = digestOf(
      parts.map(({ mark }) => mark),
      tenantNo,
    );
    listener.earlier = null;
    listener.ahead = null;
    const now: ReadPosition = {
      parts: parts.map(({ listened: { last } }) => ({ ...last, within: null, boards: last.outbox })),
      asOfMs: Math.min(...parts.map(({ listened }) => listened.nowMs)),
    };
    const why = this.whyReset(listener, from, parts);
    const isResumed = why === null && typeof from === 'object' && 'position' in from;
    const start: ReadPosition = isResumed ? from.position : now;
    const { controlShare, clock } = this.options;
    const redis = this.readerOf(parts);
    const sources = { redis, compiled, controlShare: controlShare(), nowMs: clock.now() };
    await this.seat(sources, listener, isResumed ? from : null);
    if (why === null)
      listener.put(
        {
          type: 'ready',
          payload: JSON.stringify({ type: 'ready', resumed: isResumed, heartbeatSeconds: HEARTBEAT_S }),
        },
        start,
      );
    else {
      const state = await presentState(sources, listener);
      listener.put({ type: 'reset', payload: JSON.stringify({ type: 'reset', reason: why, state }) }, start);
    }
    listener.flush();
    listener.heartbeatMs = performance.now();
    await this.catchUp(listener, start, parts, isResumed ? this.turns : null);
  }

  leave(listener: LiveListener): void {
    const feed = this.feeds.get(listener.grant.tenantNo);
    feed?.leave(listener);
    if (feed?.listeners.isEmpty === true) this.remove(feed);
  }

  heartbeat(listener: LiveListener): void {
    const feed = this.feeds.get(listener.grant.tenantNo);
    if (feed?.listeners.all.has(listener) === true) listener.heartbeat(feed.position());
  }

  close(): void {
    for (const tail of this.tails.values()) this.stop(tail);
    for (const connection of this.connections) connection.disconnect();
  }

  private async beginPart(listener: LiveListener, shard: number): Promise<BeginPart> {
    const redis = await this.connect(shard);
    const [listened, mark] = await Promise.all([listenLive(redis, shard, [listener.whom]), redis.get(markKey(shard))]);
    if (mark === null) throw new AppError('unavailable', 'Redis is being filled from Postgres; try again in a moment.');
    return { shard, redis, mark, listened, offsetMs: listened.nowMs - performance.now() };
  }

  /** The connection for reads about a tenant: one that events do not use, if it leads to all of its parts. */
  private readerOf([first, ...others]: readonly { redis: Redis }[]): Redis {
    return others.length > 0 && isOfCluster(this.options.redis) ? this.options.redis : first!.redis;
  }

  private add(tail: ShardTail): void {
    this.tails.set(tail.shard, tail);
    this.stopListening ??= this.options.signals.listen(
      'outbox',
      (shards) => {
        const woken = shards === null ? this.tails.keys() : shards.split(' ').map(Number);
        for (const shard of woken) this.tails.get(shard)?.wake();
      },
      BACKSTOP_MS,
    );
  }

  /** Removes a feed, and the tails that no other feed needs. */
  private remove(feed: TenantFeed<ShardTail>): void {
    if (this.feeds.get(feed.tenantNo) === feed) this.feeds.delete(feed.tenantNo);
    for (const tail of feed.tails) {
      tail.remove(feed);
      if (tail.isIdle) this.stop(tail);
    }
  }

  private stop(tail: ShardTail): void {
    tail.stop();
    if (this.tails.get(tail.shard) === tail) this.tails.delete(tail.shard);
    if (this.tails.size > 0) return;
    this.stopListening?.();
    this.stopListening = null;
  }

  private connect(shard: number): Promise<Redis> {
    const server = connectionOf(this.options.redis, shard);
    let connecting = this.connecting.get(server);
    if (connecting === undefined) {
      connecting = this.opened(server).catch((error: unknown) => {
        this.connecting.delete(server);
        throw error;
      });
      this.connecting.set(server, connecting);
    }
    return connecting;
  }

  private async opened(server: Redis): Promise<Redis> {
    const redis = server.duplicate();
    noteRoot(redis, this.options.redis);
    this.connections.add(redis);
    // The cluster has dropped the server.
    server.once('end', () => {
      this.connecting.delete(server);
      this.connections.delete(redis);
      redis.disconnect();
    });
    // The next read reports problems with Redis.
    redis.on('error', () => undefined);
    try {
      await redisReady(redis);
      return redis;
    } catch (error) {
      redis.disconnect();
      this.connections.delete(redis);
      throw error;
    }
  }

  private whyReset(listener: LiveListener, from: BeginFrom, parts: readonly BeginPart[]): string | null {
    if (from === 'start') return null;
    if (from === 'unknown') return 'the last ID is not valid';
    if ('gap' in from) return from.gap;
    const { asOfMs, parts: positions } = from.position;
    if (from.digest !== listener.digest || positions.length !== parts.length)
      return 'the last ID is of other data, or of data from before Redis was rebuilt';
    const isAhead = parts.some(({ listened: { last, nowMs } }, part) => {
      const { outbox, announced } = positions[part]!;
      // Announced notifications expire with their stream. Their positions are times of Redis's clock.
      return comparePositions(outbox, last.outbox) > 0 || Number(announced.split('-')[0]) > nowMs;
    });
    if (isAhead) return 'the last ID is ahead of the stream';
    const gaps = parts.map(({ listened: { nowMs, since } }, part) =>
      gapAfter({ position: readFrom(positions[part]!), asOfMs }, nowMs, since[0]!),
    );
    return gaps.find((gap) => gap !== null) ?? null;
  }

  /** Finds where the listener's user plays, and sets the listener's places as last reported, or the current ones. */
  private async seat(sources: BoardSources, listener: LiveListener, from: ParsedId | null): Promise<void> {
    if (!listener.followsPlaces) return;
    const { tenantNo, userId } = listener.grant;
    const packed = await packedUser(sources.redis, tenantNo, userId!);
    listener.user = packed === null ? null : seatedUser(decodeUser(packed));
    listener.places.clear();
    const boards: Leaderboard[] = sources.compiled.catalog.leaderboards.filter(({ id }) => listener.wantsBoard(id));
    const places = boards.map((board) => ({ listener, board }));
    for (const { board, place } of await comparePlaces(sources, places)) {
      const reported = from?.position.places.get(board.no);
      listener.places.set(board.no, reported === undefined ? place : { ...reported, group: place.group });
    }
  }

  private async catchUp(
    listener: LiveListener,
    from: ReadPosition,
    parts: readonly BeginPart[],
    turns: CatchUpTurns | null,
  ): Promise<void> {
    const catchUp = new CatchUp(this.options, listener, { from, parts, turns });
    try {
      while (!listener.closed) {
        // The others may be behind, and must not repeat what this listener knows. If they lack only entries of other
        // tenants, which may have been dropped from the outbox, they may stay behind for long.
        const goals = parts.map(({ shard, mark, listened: { last } }, part) => {
          const tail = this.tails.get(shard);
          if (tail === undefined) return last;
          if (tail.mark !== mark) throw new CatchUpFailed(REBUILT);
          const goal = laterOf(tail.position, last);
          // The tails read on while this reads other parts, so it might never have read all of them as far as they have.
          if (tail.lastRead !== null && !catchUp.hasReached(part, goal)) catchUp.takeLast(part, tail.lastRead);
          return goal;
        });
        const behind = goals.flatMap((goal, part) => (catchUp.hasReached(part, goal) ? [] : [{ goal, part }]));
        if (behind.length === 0) {
          this.join(listener, catchUp, parts);
          return;
        }
        // A read that goes on would send messages after a reset.
        const read = await Promise.allSettled(behind.map(({ goal, part }) => catchUp.read(part, goal)));
        for (const each of read) if (each.status === 'rejected') throw each.reason;
      }
    } catch (error) {
      if (!(error instanceof CatchUpFailed)) throw error;
      await this.begin(listener, { gap: error.message });
    }
  }

  /** Adds a listener that has read as far as the tails. Throws CatchUpFailed if the others follow other parts. */
  private join(listener: LiveListener, catchUp: CatchUp, parts: readonly BeginPart[]): void {
    const { tenantNo } = listener.grant;
    const known = this.feeds.get(tenantNo);
    if (known?.follows(parts.map(({ shard }) => this.tails.get(shard))) === false) throw new CatchUpFailed(REBUILT);
    const feed = known ?? this.newFeed(tenantNo, parts);
    feed.join(listener, catchUp);
    for (const tail of feed.tails) tail.wake();
  }

  private newFeed(tenantNo: number, parts: readonly BeginPart[]): TenantFeed<ShardTail> {
    const tails = parts.map((part) => this.tails.get(part.shard) ?? this.newTail(part));
    const feed = new TenantFeed(tenantNo, this.options, tails, () => this.readerOf(tails));
    this.feeds.set(tenantNo, feed);
    for (const [part, tail] of tails.entries()) tail.add(feed, part);
    return feed;
  }

  private newTail({ shard, redis, mark, offsetMs, listened: { last, nowMs } }: BeginPart): ShardTail {
    // Use the newest position that Redis named, never one from a client: all streams of the shard continue from there.
    const at = { ...last, asOfMs: nowMs };
    const connect = (): Promise<Redis> => this.connect(shard);
    const tail = new ShardTail(shard, this.options, { redis, at, offsetMs, mark, onGap: this.onGap, connect });
    this.add(tail);
    return tail;
  }

  private readonly onGap = (feed: TenantFeed<ShardTail>, why: string): void => {
    const listeners = [...feed.listeners.all];
    for (const listener of listeners) feed.leave(listener);
    this.remove(feed);
    for (const listener of listeners)
      this.begin(listener, { gap: why }).catch((error: unknown) => {
        this.options.onProblem(error);
        listener.end('internal_error');
      });
  };
}
