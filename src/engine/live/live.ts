import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { LiveTicket, LiveTicketRequest } from '../../domain/live.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { LogThrottle } from '../../log/log-throttle.ts';
import type { KeyRecord } from '../../postgres/access/keys.ts';
import type { Signals } from '../../redis/signals.ts';
import { ConnectionLimits, type LiveLimits } from './connection-limits.ts';
import { holderOf, LiveGrants, TICKET_MS, type LiveGrant } from './grants.ts';
import { LiveKeys, type HeldKey, type LiveTenants } from './live-keys.ts';
import { HEARTBEAT_S } from './heartbeat.ts';
import { LiveListener } from './live-listener.ts';
import type { ClosingReason, LiveSink } from './live-sink.ts';
import { grantFor, type TicketCaller } from './live-tickets.ts';
import type { LastId, MessageIds, ParsedId } from './message-id.ts';
import { SlowReaders } from './slow-readers.ts';
import { Tails } from './tails.ts';

const TICK_MS = 1_000;
const KEEP_SESSIONS_MS = 60_000;
const CHECK_AGAIN_MS = 500;
const LOG_MS = 60_000;

export interface LiveOptions {
  redis: Redis;
  signals: Signals;
  catalogs: {
    of(tenantNo: number): CompiledCatalog | Promise<CompiledCatalog>;
    get(tenantNo: number): CompiledCatalog | undefined;
  };
  findKeys: (prefixes: readonly string[]) => Promise<KeyRecord[]>;
  /** When those of the console's sessions end that there are, by the hashes of their tokens; epoch ms of the machine. */
  findSessionEnds: (hashes: readonly string[]) => Promise<Map<string, number>>;
  tenants: LiveTenants;
  controlShare: () => number;
  clock: Clock;
  limits: LiveLimits;
  /** Makes and checks the IDs of messages. */
  ids: MessageIds;
  log: Log;
}

/** A stream that may be opened: counted until it is closed. */
export interface LiveAdmission {
  /** What waits for clients that do not read is to be noted here. */
  readonly slowReaders: SlowReaders;
  /** See `holderOf`. */
  readonly holder: string;
  /** Begins to send; nothing is sent before. The returned function is to be called when the connection is gone. */
  start(sink: LiveSink): () => void;
  /** Instead of `start`: the connection is gone already. */
  cancel(): void;
}

/** The live streams of this process, and the tickets for those of all. */
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
  private checkAgain = false;
  private ended = false;
  private sentMessages = 0;

  constructor(options: LiveOptions) {
    this.options = options;
    const { redis, signals, catalogs, clock, controlShare } = options;
    this.grants = new LiveGrants(redis);
    this.keys = new LiveKeys(options);
    this.limits = new ConnectionLimits(options.limits);
    this.tails = new Tails({ redis, signals, catalogs, clock, controlShare, onProblem: this.onProblem });
  }

  /** How many messages were sent over the streams of this process. */
  get sent(): number {
    return this.sentMessages;
  }

  /** How many bytes wait in this process for clients that do not read. */
  get waitingBytes(): number {
    return this.slowReaders.bytes;
  }

  /** How many streams are open. */
  get count(): number {
    return this.limits.count;
  }

  /** Makes a ticket. Throws what `grantFor` does; errors of Redis. */
  async makeTicket(compiled: CompiledCatalog, caller: TicketCaller, request: LiveTicketRequest): Promise<LiveTicket> {
    const grant = grantFor(compiled, caller, { request, nowMs: this.options.clock.now() });
    return { ticket: await this.grants.makeTicket(grant), expiresIn: TICKET_MS / 1000 };
  }

  /**
   * Takes a ticket, or the ID of a stream's last message from a client that comes back. 401 where neither is good, or the key
   * is so no more; 429 and 503 beyond the limits, 503 while this process ends; errors of Redis and Postgres.
   */
  async open({
    ticket,
    lastEventId,
    count,
  }: {
    ticket: string | undefined;
    lastEventId: string | null;
    /** Counts the opening under the limit of the key that asked for the stream. Throws 429. */
    count: (grant: LiveGrant) => void;
  }): Promise<LiveAdmission> {
    if (this.ended) throw new AppError('unavailable', 'This server is shutting down; try again.');
    const last = lastEventId === null ? null : this.options.ids.parse(lastEventId);
    const admitted = await this.admitted(ticket, last, count);
    if (admitted === null)
      throw new AppError('unauthorized', 'The ticket is missing, was used already or has expired: ask for a new one');
    const release = this.limits.admit(admitted.grant);
    try {
      const { grant, key } = admitted;
      const session =
        admitted.session ?? (await this.grants.openSession({ grant, keyDigest: key.digest, openedMs: Date.now() }));
      return this.admission({
        grant,
        key,
        session,
        release,
        from: lastEventId === null ? 'start' : (last?.authentic ?? 'unknown'),
      });
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Keys, sessions, tenants or the organisation changed, or may have: streams whose keys or sessions are good no more end. */
  readonly organisationChanged = (): void => {
    if (this.listeners.size === 0) return;
    if (this.checking) this.checkAgain = true;
    else void this.checkKeys();
  };

  /** Ends all streams and takes no more: their clients come back to another process. */
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

  private admission({
    release,
    from,
    ...stream
  }: {
    grant: LiveGrant;
    key: HeldKey;
    session: string;
    release: () => void;
    from: ParsedId | 'start' | 'unknown';
  }): LiveAdmission {
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
    this.tick ??= setInterval(() => this.look(), TICK_MS).unref();
  }

  /** Signs of life, keys and sign-ins that expire, sessions of streams that must not. */
  private look(): void {
    const nowMs = performance.now();
    this.slowReaders.look(nowMs);
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

  private async checkKeys(): Promise<void> {
    this.checking = true;
    try {
      do {
        this.checkAgain = false;
        const checked = [...this.listeners];
        const problems = await this.keys.check(checked);
        for (const reason of ['key_revoked', 'key_expired', 'session_ended', 'tenant_gone'] as const)
          this.endForGood(
            checked.filter((_, index) => problems[index] === reason),
            reason,
          );
      } while (this.checkAgain);
    } catch (error) {
      // Postgres is away: what was good stays so until it can be asked.
      this.onProblem(error);
      setTimeout(this.organisationChanged, CHECK_AGAIN_MS).unref();
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
      this.options.log.warn({ err: error, suppressed }, 'live streams could not report something'),
    );
  };
}
