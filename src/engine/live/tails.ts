import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { AppError } from '../../errors.ts';
import { decodeState } from '../../packed/state.ts';
import { redisReady } from '../../redis/client.ts';
import { connectionOf, noteRoot } from '../../redis/endpoints.ts';
import { packedUser, tenantParts, userPart } from '../../redis/parts.ts';
import { markKey, type TenantPart } from '../../redis/keys.ts';
import { gapAfter, type Listened, listenLive } from '../../redis/live-streams.ts';
import { comparePositions } from '../../redis/outbox.ts';
import type { Signals } from '../../redis/signals.ts';
import { type BoardSources, comparePlaces, presentState, seatedUser } from './board-report.ts';
import { CatchUp, CatchUpFailed, CatchUpTurns, laterOf, readFrom } from './catch-up.ts';
import { holderOf } from './grants.ts';
import { HEARTBEAT_S } from './live-sink.ts';
import type { LiveListener, ReadPosition } from './live-listener.ts';
import { digestOf, type ParsedId } from './message-id.ts';
import { type FeedSources, REBUILT, ShardTail } from './shard-tail.ts';

/** Where a listener starts: now; after the message with an ID; or now, with a message that it missed something. */
export type BeginFrom = ParsedId | 'start' | 'unknown' | { gap: string };

type TailSources = Omit<FeedSources, 'redis' | 'catalogs'> & {
  /** Only duplicated: shards are read on separate connections, opened with the first listener. */
  redis: Redis;
  catalogs: FeedSources['catalogs'] & { of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog> };
  signals: Pick<Signals, 'listen'>;
};

/** Interval between unconditional reads of each shard, in case a signal is lost. */
const BACKSTOP_MS = 1_000;

export class Tails {
  private readonly options: TailSources;
  private readonly tails = new Map<number, ShardTail>();
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
   * the messages that it missed, and follows its shard. Throws errors of Redis and Postgres, and an error if the shard
   * is incomplete.
   */
  async begin(listener: LiveListener, from: BeginFrom): Promise<void> {
    const { tenantNo, userId } = listener.grant;
    const { shard } = livePart(this.options.redis, tenantNo, userId);
    listener.shard = shard;
    const [redis, compiled] = await Promise.all([this.connect(shard), this.options.catalogs.of(tenantNo)]);
    const [listened, mark] = await Promise.all([listenLive(redis, shard, [listener.whom]), redis.get(markKey(shard))]);
    if (mark === null) throw new AppError('unavailable', 'Redis is being filled from Postgres; try again in a moment.');
    const offsetMs = listened.nowMs - performance.now();
    listener.digest = digestOf(mark, tenantNo);
    listener.earlier = null;
    listener.ahead = null;
    const now = { ...listened.last, within: null, boards: listened.last.outbox, asOfMs: listened.nowMs };
    const why = this.whyReset(listener, from, listened);
    const isResumed = why === null && typeof from === 'object' && 'position' in from;
    const start: ReadPosition = isResumed ? from.position : now;
    const sources = this.sources(redis, compiled);
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
    const turns = isResumed ? this.turns : null;
    await this.catchUp(listener, { from: start, mark, redis, offsetMs, turns, ...listened });
  }

  leave(listener: LiveListener): void {
    const tail = this.tails.get(listener.shard);
    tail?.leave(listener);
    if (tail?.feeds.size === 0) this.stop(tail);
  }

  heartbeat(listener: LiveListener): void {
    const tail = this.tails.get(listener.shard);
    const feed = tail?.feeds.get(listener.grant.tenantNo);
    if (feed?.listeners.all.has(listener) === true) listener.heartbeat(feed.position(tail!.position));
  }

  close(): void {
    for (const tail of this.tails.values()) this.stop(tail);
    for (const connection of this.connections) connection.disconnect();
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

  private stop(tail: ShardTail): void {
    tail.stop();
    this.tails.delete(tail.shard);
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

  private whyReset(listener: LiveListener, from: BeginFrom, { nowMs, last, since }: Listened): string | null {
    if (from === 'start') return null;
    if (from === 'unknown') return 'the last ID is not valid';
    if ('gap' in from) return from.gap;
    if (from.digest !== listener.digest)
      return 'the last ID is of other data, or of data from before Redis was rebuilt';
    const { outbox, announced, asOfMs } = from.position;
    // Announced notifications expire with their stream. Their positions are times of Redis's clock.
    if (comparePositions(outbox, last.outbox) > 0 || Number(announced.split('-')[0]) > nowMs)
      return 'the last ID is ahead of the stream';
    return gapAfter({ position: readFrom(from.position), asOfMs }, { nowMs, since: since[0]! });
  }

  private sources(redis: Redis, compiled: CompiledCatalog): BoardSources {
    const { controlShare, clock } = this.options;
    return { redis, compiled, controlShare: controlShare(), nowMs: clock.now() };
  }

  /** Finds where the listener's user plays, and sets the listener's places as last reported, or the current ones. */
  private async seat(sources: BoardSources, listener: LiveListener, from: ParsedId | null): Promise<void> {
    if (!listener.followsPlaces) return;
    const { tenantNo, userId } = listener.grant;
    const packed = await packedUser(sources.redis, tenantNo, userId!);
    listener.user = packed === null ? null : seatedUser(decodeState(packed));
    listener.places.clear();
    const boards: Leaderboard[] = sources.compiled.catalog.leaderboards.filter(({ id }) => listener.wantsBoard(id));
    const asked = boards.map((board) => ({ listener, board }));
    for (const { board, place } of await comparePlaces(sources, asked)) {
      const reported = from?.position.places.get(board.no);
      listener.places.set(board.no, reported === undefined ? place : { ...reported, group: place.group });
    }
  }

  private async catchUp(
    listener: LiveListener,
    {
      from,
      mark,
      redis,
      offsetMs,
      turns,
      nowMs,
      last,
    }: { from: ReadPosition; mark: string; redis: Redis; offsetMs: number; turns: CatchUpTurns | null } & Omit<
      Listened,
      'since'
    >,
  ): Promise<void> {
    const { shard } = listener;
    const { tenantNo } = listener.grant;
    const sources = { ...this.options, redis };
    const catchUp = new CatchUp(sources, listener, { from, mark, turns });
    try {
      while (!listener.closed) {
        let tail = this.tails.get(shard);
        if (tail !== undefined && tail.mark !== mark) throw new CatchUpFailed(REBUILT);
        // The others may be behind, and must not repeat what this listener knows. If they lack only entries of other
        // tenants, which may have been dropped from the outbox, they may stay behind for long.
        const goal = tail === undefined ? last : laterOf(tail.position, last);
        if (!catchUp.hasReached(goal)) {
          await catchUp.read(goal);
          continue;
        }
        const { readUpTo, boards, moves } = catchUp;
        if (tail === undefined) {
          // Use the newest position that Redis named, never one from a client: all streams of the shard continue from there.
          const at = { ...last, asOfMs: nowMs };
          const connect = (): Promise<Redis> => this.connect(shard);
          tail = new ShardTail(shard, sources, { at, offsetMs, mark, onGap: this.onGap, connect });
          this.add(tail);
        }
        tail.feed(tenantNo).join(listener, { readUpTo, boards, moves });
        tail.wake();
        return;
      }
    } catch (error) {
      if (!(error instanceof CatchUpFailed)) throw error;
      await this.begin(listener, { gap: error.message });
    }
  }

  private readonly onGap = (listener: LiveListener, why: string): void => {
    const tail = this.tails.get(listener.shard);
    if (tail?.feeds.size === 0) this.stop(tail);
    this.begin(listener, { gap: why }).catch((error: unknown) => {
      this.options.onProblem(error);
      listener.end('internal_error');
    });
  };
}

/** The part whose outbox a stream follows. Throws 422 for a stream of all users of a wide tenant. */
function livePart(redis: Redis, tenantNo: number, userId: string | null): TenantPart {
  if (userId !== null) return userPart(redis, tenantNo, userId);
  const [only, ...others] = tenantParts(redis, tenantNo);
  if (others.length === 0) return only!;
  throw new AppError(
    'unprocessable',
    'The users of this tenant are spread over several shards: name a user to follow.',
  );
}
