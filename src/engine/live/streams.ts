/**
 * Live streams: tickets, limits and the streams of this process. The way of a message through this folder:
 *
 * 1. `shard-tails` follows the shards that somebody listens to; `shard-tail` reads one after each signal, and `shard-catch-up` reads
 *    what a resumed stream missed.
 * 2. `tenant-feed` takes what a tail read of a tenant; `tenant-entries` turns an outbox entry into notifications,
 *    `tenant-boards` collects changed leaderboards for `tenant-board-reports`, and `tenant-listeners` knows who wants what.
 * 3. `stream-listener` filters and sends; `stream-grants` says what a stream may see, `stream-keys` until when,
 *    `stream-message-id` where it is, and `stream-sink` is its connection.
 */
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { LiveTicket, LiveTicketRequest } from '../../domain/notifications/live.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { epochDay } from '../../domain/periods.ts';
import { boardStatus } from '../../domain/runs.ts';
import { AppError } from '../../errors.ts';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import type { KeyRecord } from '../../postgres/access/keys.ts';
import type { Signals } from '../../redis/signals.ts';
import { visibleBoards } from '../find-configured.ts';
import { holderOf, type LiveGrant, createLiveGrants, type LiveGrants, TICKET_MS } from './stream-grants.ts';
import { type HeldKey, createLiveKeys, type LiveKeys, type LiveTenants } from './stream-keys.ts';
import { LiveListener } from './stream-listener.ts';
import { type ClosingReason, HEARTBEAT_S, type LiveSink, SlowReaders } from './stream-sink.ts';
import type { LastId, MessageIds, ParsedId } from './stream-message-id.ts';
import { Tails } from './shard-tails.ts';

export interface LiveLimits {
  connections: number;
  /** Limit for a user, over all of the user's keys. Admin keys are limited by `connections` only. */
  perUser: number;
}

/** Counts the streams of a process, in total and by holder (`holderOf`). */
class ConnectionLimits {
  private readonly limits: LiveLimits;
  private all = 0;
  private readonly ofHolders = new Map<string, number>();

  constructor(limits: LiveLimits) {
    this.limits = limits;
  }

  get count(): number {
    return this.all;
  }

  /** Counts another stream; the returned function uncounts it. Throws 503 if the process is full, 429 for the user. */
  admit(grant: LiveGrant): () => void {
    const { connections, perUser } = this.limits;
    const holder = holderOf(grant);
    const ofHolder = this.ofHolders.get(holder) ?? 0;
    if (this.all >= connections)
      throw new AppError('unavailable', 'This server has reached its limit of live streams; try again in a moment.');
    if (grant.kind === 'application' && ofHolder >= perUser)
      throw new AppError('too_many_requests', `The user has ${perUser} live streams already; close one of them.`, {
        headers: { 'Retry-After': RETRY_S },
      });
    this.all += 1;
    this.ofHolders.set(holder, ofHolder + 1);
    let counted = true;
    return () => {
      if (!counted) return;
      counted = false;
      this.all -= 1;
      less(this.ofHolders, holder);
    };
  }
}

const RETRY_S = '5';

function less<K>(counts: Map<K, number>, key: K): void {
  const count = counts.get(key)! - 1;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const TICK_MS = 1_000;
const KEEP_SESSIONS_MS = 60_000;
const CHECK_AGAIN_MS = 500;
const LOG_MS = 60_000;

interface LiveOptions {
  redis: Redis;
  signals: Signals;
  catalogs: {
    of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog>;
    get(tenantNo: number): CompiledCatalog | undefined;
  };
  findKeys: (prefixes: readonly string[]) => Promise<KeyRecord[]>;
  /** Returns when the existing console sessions among these expire, by token hash; epoch ms of the machine. */
  findSessionEnds: (hashes: readonly string[]) => Promise<Map<string, number>>;
  tenants: LiveTenants;
  controlShare: () => number;
  clock: Clock;
  limits: LiveLimits;
  /** Makes and checks message IDs. */
  ids: MessageIds;
  log: Log;
}

/** A stream that may be opened. It counts until it is closed. */
export interface LiveAdmission {
  /** The connection reports its waiting data here. */
  readonly slowReaders: SlowReaders;
  /** See `holderOf`. */
  readonly holder: string;
  /** Starts sending. Call the returned function when the connection is gone. */
  start(sink: LiveSink): () => void;
  /** Call it instead of `start` if the connection is already gone. */
  cancel(): void;
}

/** The live streams of this process, and tickets for the streams of all processes. */
export class Live {
  private readonly options: LiveOptions;
  private readonly grants: LiveGrants;
  private readonly keys: LiveKeys;
  private readonly limits: ConnectionLimits;
  private readonly tails: Tails;
  private readonly slowReaders = new SlowReaders();
  private readonly listeners = new Set<LiveListener>();
  private readonly throttle = new LogThrottle(LOG_MS);
  private tick: NodeJS.Timeout | undefined;
  private keptMs = 0;
  private checking = false;
  private readonly unchecked = new Set<LiveListener>();
  /** Calls of `credentialsChanged`. */
  private changes = 0;
  private ended = false;
  private sentMessages = 0;

  constructor(options: LiveOptions) {
    this.options = options;
    const { redis, signals, catalogs, clock, controlShare } = options;
    this.grants = createLiveGrants(redis);
    this.keys = createLiveKeys(options);
    this.limits = new ConnectionLimits(options.limits);
    this.tails = new Tails({ redis, signals, catalogs, clock, controlShare, onProblem: this.onProblem });
  }

  get sent(): number {
    return this.sentMessages;
  }

  /** Bytes that wait in this process for slow clients. */
  get waitingBytes(): number {
    return this.slowReaders.bytes;
  }

  get count(): number {
    return this.limits.count;
  }

  /** Makes a ticket. Throws the errors of `grantFor` and of Redis. */
  async makeTicket(compiled: CompiledCatalog, caller: TicketCaller, request: LiveTicketRequest): Promise<LiveTicket> {
    const grant = grantFor(compiled, caller, request, this.options.clock.now());
    return { ticket: await this.grants.makeTicket(grant), expiresIn: TICKET_MS / 1000 };
  }

  /**
   * Accepts a ticket, or the ID of a stream's last message from a client that comes back. Throws 401 if neither is valid, or
   * the key no longer is; 429 and 503 beyond the limits; 503 while this process stops; errors of Redis and Postgres.
   */
  async open(request: {
    ticket: string | undefined;
    lastEventId: string | null;
    /** Counts the opening towards the rate limit of the key that requested the stream. Throws 429. */
    count: (grant: LiveGrant) => void;
  }): Promise<LiveAdmission> {
    const { ticket, lastEventId, count } = request;
    if (this.ended) throw new AppError('unavailable', 'This server is shutting down; try again.');
    const last = lastEventId === null ? null : this.options.ids.parse(lastEventId);
    const changesBefore = this.changes;
    const admitted = await this.admitted(ticket, last, count);
    if (admitted === null)
      throw new AppError('unauthorized', 'The ticket is missing, was used already or has expired: ask for a new one');
    const release = this.limits.admit(admitted.grant);
    try {
      const { grant, key } = admitted;
      const session =
        admitted.session ??
        (await this.grants.openSession({ grant, keyDigest: key.digest, openedMs: systemClock.now() }));
      return this.admission({
        grant,
        key,
        session,
        release,
        changesBefore,
        from: lastEventId === null ? 'start' : (last?.authentic ?? 'unknown'),
      });
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Call it when these keys or sessions may have changed; `null`: any, or tenants. Closes streams without a valid key. */
  readonly credentialsChanged = (names: readonly string[] | null): void => {
    this.changes += 1;
    const changed = new Set(names);
    for (const listener of this.listeners) {
      const { prefix, signIn = '' } = listener.grant;
      if (names === null || changed.has(prefix) || changed.has(signIn)) this.unchecked.add(listener);
    }
    this.startChecking();
  };

  /** Closes all streams and accepts no more. The clients connect to another process. */
  endAll(): void {
    this.ended = true;
    for (const listener of this.listeners) listener.end('shutting_down');
  }

  close(): void {
    this.endAll();
    clearInterval(this.tick);
    this.tails.close();
  }

  private async admitted(
    ticket: string | undefined,
    last: LastId | null,
    count: (grant: LiveGrant) => void,
  ): Promise<{ grant: LiveGrant; key: HeldKey; session: string | null } | null> {
    const grant = ticket === undefined ? null : await this.grants.takeTicket(ticket);
    if (grant !== null) {
      count(grant);
      const key = await this.keys.hold(grant);
      return key === null ? null : { grant, key, session: null };
    }
    const session = last === null ? null : await this.grants.session(last.session);
    if (session === null) return null;
    count(session.grant);
    const key = await this.keys.hold(session.grant);
    return key?.digest === session.keyDigest ? { grant: session.grant, key, session: last!.session } : null;
  }

  private admission(opened: {
    grant: LiveGrant;
    key: HeldKey;
    session: string;
    release: () => void;
    /** `changes` before the key was read. */
    changesBefore: number;
    from: ParsedId | 'start' | 'unknown';
  }): LiveAdmission {
    const { release, changesBefore, from, ...stream } = opened;
    return {
      slowReaders: this.slowReaders,
      holder: holderOf(stream.grant),
      cancel: release,
      start: (sink) => {
        const listener = new LiveListener({
          ...stream,
          sink,
          ids: this.options.ids,
          onSent: (messages) => (this.sentMessages += messages),
        });
        this.listeners.add(listener);
        this.startTicking();
        if (this.changes !== changesBefore) {
          this.unchecked.add(listener);
          this.startChecking();
        }
        if (this.ended) listener.end('shutting_down');
        else
          this.tails.beginInTurn(listener, from).catch((error: unknown) => {
            this.onProblem(error);
            listener.end('internal_error');
          });
        return () => {
          listener.closed = true;
          this.tails.leave(listener);
          release();
          if (!this.listeners.delete(listener) || this.listeners.size > 0) return;
          clearInterval(this.tick);
          this.tick = undefined;
        };
      },
    };
  }

  private startTicking(): void {
    this.tick ??= setInterval(() => this.checkConnections(), TICK_MS).unref();
  }

  /** Sends heartbeats, closes streams with expired keys and sessions, and prolongs the sessions of the others. */
  private checkConnections(): void {
    const nowMs = performance.now();
    this.slowReaders.check(nowMs);
    for (const listener of this.listeners) {
      const expiry = this.keys.expiryOf(listener.key);
      if (expiry !== null) this.endForGood([listener], expiry);
      else if (nowMs - listener.heartbeatMs >= HEARTBEAT_S * 1000) {
        listener.heartbeatMs = nowMs;
        this.tails.heartbeat(listener);
      }
    }
    if (nowMs - this.keptMs < KEEP_SESSIONS_MS) return;
    this.keptMs = nowMs;
    this.grants.keepSessions([...this.listeners].map(({ session }) => session)).catch(this.onProblem);
  }

  private readonly startChecking = (): void => {
    if (!this.checking && this.unchecked.size > 0) void this.checkKeys();
  };

  private async checkKeys(): Promise<void> {
    this.checking = true;
    let checked: LiveListener[] = [];
    try {
      while (this.unchecked.size > 0) {
        checked = [...this.unchecked].filter((listener) => this.listeners.has(listener));
        this.unchecked.clear();
        const problems = await this.keys.check(checked);
        for (const reason of ['key_revoked', 'key_expired', 'session_ended', 'tenant_gone'] as const)
          this.endForGood(
            checked.filter((_, index) => problems[index] === reason),
            reason,
          );
      }
    } catch (error) {
      // Postgres is away: valid streams go on until it can be asked.
      this.onProblem(error);
      for (const listener of checked) this.unchecked.add(listener);
      setTimeout(this.startChecking, CHECK_AGAIN_MS).unref();
    } finally {
      this.checking = false;
    }
  }

  private endForGood(listeners: readonly LiveListener[], reason: ClosingReason): void {
    if (listeners.length === 0) return;
    for (const listener of listeners) listener.end(reason);
    this.grants.endSessions(listeners.map(({ session }) => session)).catch(this.onProblem);
  }

  private readonly onProblem = (error: unknown): void => {
    this.throttle.log('live', (suppressed) =>
      this.options.log.warn({ err: error, suppressed }, 'live streams could not report a change'),
    );
  };
}

/** The part of a caller's key that determines what a stream may see. */
interface TicketCaller {
  kind: 'admin' | 'application';
  prefix: string;
  userId: string | null;
  rateLimit: number | null;
  /** If a console session stands for the key: SHA-256 of its token. */
  session?: { readonly hash: Buffer };
}

/** What a stream may see. Throws 422 for an unknown board, and for events with an application key. */
function grantFor(
  compiled: CompiledCatalog,
  { kind, prefix, userId, rateLimit, session }: TicketCaller,
  request: LiveTicketRequest,
  nowMs: number,
): LiveGrant {
  const utcDay = epochDay(nowMs);
  const named = (request.boards ?? []).map((name) => {
    const ofId = name.toLowerCase();
    const board = compiled.leaderboards.get(name) ?? compiled.catalog.leaderboards.find(({ id }) => id === ofId);
    if (board === undefined || boardStatus(board, utcDay) === null)
      throw new AppError('unprocessable', `boards: there is no leaderboard '${name}'.`, {
        hint: didYouMean(name, visibleBoards(compiled, utcDay)),
      });
    return board.id;
  });
  const boardIds = [...new Set(named)];
  const { types = null } = request;
  const [metricIds, pointsSystemIds, leaderboardIds] = [
    request.metricIds,
    request.pointsSystemIds,
    request.leaderboardIds,
  ].map(asStored) as [Ids, Ids, Ids];
  if (kind === 'application' && types?.includes('event') === true)
    throw new AppError('unprocessable', "types: 'event' is for admin keys.");
  return {
    tenantNo: compiled.catalog.tenantNo,
    prefix,
    ...(session && { signIn: session.hash.toString('base64url') }),
    kind,
    rateLimit,
    userId: kind === 'application' ? userId : (request.userId ?? null),
    boardIds: kind === 'application' ? boardIds : [],
    types,
    metricIds,
    // An admin key sees all boards, so naming some is a filter.
    leaderboardIds: kind === 'admin' && boardIds.length > 0 ? [...boardIds, ...(leaderboardIds ?? [])] : leaderboardIds,
    pointsSystemIds,
  };
}

type Ids = string[] | null;

/** Lower-cases IDs as they are stored; `null` if none were sent. */
const asStored = (ids: readonly string[] | undefined): Ids => ids?.map((id) => id.toLowerCase()) ?? null;
