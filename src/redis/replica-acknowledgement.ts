import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { isOfCluster } from './endpoints.ts';
import {
  type Attached,
  cannotHaveTakenOver,
  InSyncReplicas,
  offsetOf,
  type Place,
  RoundConnection,
  WaitingWrites,
} from './replicas.ts';
import { fieldsOf } from '../settings/redis-address.ts';
import { runIdOf } from '../domain/shard-state.ts';
import { inOwnTurn } from '../pacing/turns.ts';

/** No replica is known to hold the write. Answered with 503. The write was either done on the master or not attempted. */
export class NotReplicated extends Error {
  constructor() {
    super('No replica of Redis acknowledges writes.');
    this.name = 'NotReplicated';
  }
}

export interface ReplicaAcknowledgementOptions {
  /** The connection that carries the writes. */
  redis: Redis;
  /** Its gate: the Redis process and connection for which its shards are open. */
  gate: { readonly redisProcessId: string | null; readonly connection: number; readonly own: readonly number[] };
  timeoutMs: number;
  onChange?: (isAway: boolean) => void;
  /** Called with the addresses of replicas that no longer count because they cannot have become the master. */
  onGone?: (replicas: readonly string[]) => void;
  /** Called when the name or the Sentinels lead to a different master than the gate's. */
  onElsewhere?: () => void;
}

/** The replicas that must hold each write, and their master's process. */
interface InSync {
  redisProcessId: string;
  replicas: InSyncReplicas;
}

/** Concurrent rounds: the next command of events is sent while the replicas still acknowledge the one before. */
const ROUNDS = 2;
/** Delay before the next round while no replica acknowledges, and while one is slow. */
const RETRY_MS = 100;
const SLOW_MS = 10;
/** Duration of one WAIT before looking for the replica that does not acknowledge. */
const SLICE_MS = 100;
/** Interval of asking the Sentinels whether they reach a missing replica. */
const ASK_AGAIN_MS = 200;
const MOMENT_MS = 250;
/** Interval of locating the master while no replica acknowledges. */
const LOOK_AGAIN_MS = 500;
/**
 * How long nothing is acknowledged while an in-sync replica is missing. It may have become the master, and Sentinels need up to two
 * seconds to attach the others to it. After that, the master is located again and its present replicas count. The wait is shorter
 * if all Sentinels rule out that the replica became the master (`cannotHaveTakenOver`).
 */
const MISSING_MS = 3_000;
/**
 * In a cluster, a master that a majority cannot reach refuses commands after `cluster-node-timeout`, and a replica takes
 * over no sooner. A master that still serves after that time is therefore still the master. The default timeout applies if
 * the setting cannot be read.
 */
const BEYOND_NODE_TIMEOUT_MS = 1_000;
const NODE_TIMEOUT_MS = 15_000;

/**
 * Waits until the in-sync replicas (`InSyncReplicas`, at least one) hold a write. It compares the master's replication offset
 * after the write (ROLE, sent right after it) with the offsets that the replicas report. Rounds of WAIT on separate connections make
 * the replicas report without blocking the connection that writes. A round starts together with a call, so that Redis asks the
 * replicas in the same write that sends them the call's effects.
 *
 * While no replica acknowledges, writes are refused before they are sent, and rounds continue until one does. A missing replica
 * delays writes by a few seconds at most, less if the Sentinels rule out that it became the master.
 */
export class ReplicaAcknowledgement {
  private readonly options: ReplicaAcknowledgementOptions;
  private readonly connections: readonly RoundConnection[];
  /** `null` until they are found. */
  private inSync: InSync | null = null;
  private readonly writes = new WaitingWrites();
  /** The offset after the last reply of `noteOffset`. */
  private noted: Place | null = null;
  private scheduled = false;
  /** Whether a call was sent while no connection was free for its round. */
  private isWanted = false;
  private away = false;
  /** `MISSING_MS`, or in a cluster longer than `cluster-node-timeout`. */
  private missingMs: number;
  private askedMs = -Infinity;
  /** When the connections were last renewed or last worked. */
  private renewedMs = 0;
  private readonly closing = new AbortController();

  constructor(options: ReplicaAcknowledgementOptions) {
    this.options = options;
    const { redis, timeoutMs } = options;
    const ending = this.closing.signal;
    this.missingMs = isOfCluster(redis) ? NODE_TIMEOUT_MS + BEYOND_NODE_TIMEOUT_MS : MISSING_MS;
    this.connections = Array.from({ length: ROUNDS }, () => new RoundConnection(redis, timeoutMs, ending));
  }

  get isAway(): boolean {
    return this.away;
  }

  /** Call this before a write. Throws NotReplicated if no replica would acknowledge it. */
  refuseAway(): void {
    if (this.away) throw new NotReplicated();
  }

  /**
   * Resolves with the reply to a write once the master's offset after it is known. Call it in the same turn of the event loop that
   * sends the write, on the connection that writes. Rejects as the write does, if the connection breaks, or with NotReplicated if
   * the server is no longer the master.
   */
  async noteOffset<T>(reply: Promise<T>): Promise<T> {
    const offset = this.askOffset();
    this.schedule();
    const [answer, place] = await Promise.all([reply, offset]);
    this.noted = place;
    return answer;
  }

  /** Resolves when the replicas hold all noted writes. Rejects with NotReplicated after a while. */
  async waitForNoted(): Promise<void> {
    if (this.noted === null) throw new NotReplicated();
    await this.waitFor(this.noted);
  }

  /** Like `waitForNoted`, for everything that Redis has replied to any client. */
  async wait(): Promise<void> {
    const place = await this.askOffset().catch(() => {
      throw new NotReplicated();
    });
    await this.waitFor(place);
  }

  /** Number of replicas that acknowledge writes; 0 if writes are refused. */
  async acknowledging(): Promise<number> {
    const acknowledged = this.wait().catch(() => undefined);
    await Promise.race([acknowledged, this.pause(MOMENT_MS)]);
    return this.away ? 0 : (this.inSync?.replicas.count ?? 0);
  }

  close(): void {
    this.closing.abort();
    this.writes.reject(() => new NotReplicated());
  }

  private async askOffset(): Promise<Place> {
    const { redis, gate } = this.options;
    const { redisProcessId, connection } = gate;
    const atMs = performance.now();
    const offset = offsetOf(await redis.call('ROLE'));
    if (offset === null || redisProcessId === null) throw new NotReplicated();
    return { redisProcessId, connection, offset, atMs };
  }

  private async waitFor(place: Place): Promise<void> {
    if (this.closing.signal.aborted) throw new NotReplicated();
    const acknowledged = this.writes.wait(place);
    if (!this.writes.isEmpty && !this.isUnderWay) this.schedule();
    await inOwnTurn(acknowledged);
  }

  /** In a cluster, a shard of the server. */
  private get shard(): number | null {
    const { redis, gate } = this.options;
    return isOfCluster(redis) ? (gate.own[0] ?? null) : null;
  }

  private get isUnderWay(): boolean {
    return this.connections.some(({ isBusy }) => isBusy);
  }

  /** Starts a round at the end of this turn of the event loop, after the turn's writes, which share the round. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      const free = this.connections.find(({ isBusy }) => !isBusy);
      if (free === undefined) this.isWanted = true;
      else void this.round(free);
    });
  }

  private async round(connection: RoundConnection): Promise<void> {
    const begunMs = performance.now();
    connection.isBusy = true;
    const answer = await this.ask(connection).catch(() => null);
    connection.isBusy = false;
    if (answer !== 'overtaken') this.settle(answer);
    if (this.closing.signal.aborted) return;
    // Other replicas satisfied WAIT. A member with a lower offset will catch up shortly, or is missing.
    if (this.writes.isSince(begunMs)) await this.pause(SLOW_MS);
    if (!this.isWanted && (this.writes.isEmpty || this.isUnderWay)) return;
    this.isWanted = false;
    this.schedule();
  }

  /** `held`: null if a replica is missing or late. */
  private settle(place: Place | null): void {
    const { gate, timeoutMs } = this.options;
    if (place !== null) this.writes.settle(place, () => new NotReplicated());
    const isLate = place === null || this.writes.isSince(performance.now() - timeoutMs);
    // Replicas count as back once they hold the waiting writes.
    const isAway = isLate || (this.away && !this.writes.isEmpty);
    // Without an open shard, nothing is known about replicas.
    if (gate.redisProcessId !== null && isAway !== this.away) this.turn(isAway);
    if (isLate) this.writes.reject(() => new NotReplicated());
  }

  /** The offset that the replicas hold; `null`: one is missing. `overtaken`: other replicas count now. */
  private async ask(connection: RoundConnection): Promise<Place | null | 'overtaken'> {
    const { gate, timeoutMs } = this.options;
    if (this.away) this.checkLater(connection);
    await connection.ready(timeoutMs);
    const { redisProcessId, connection: opened } = gate;
    if (redisProcessId === null || !(await this.isThere(connection, redisProcessId))) return null;
    if (this.inSync?.redisProcessId !== redisProcessId) {
      const replicas = await InSyncReplicas.find(connection.redis, this.shard, timeoutMs);
      this.inSync = replicas === null ? null : { redisProcessId, replicas };
    }
    const { inSync } = this;
    if (inSync === null) return null;
    const offset = await this.heldBy(inSync, connection).catch(() => null);
    if (this.inSync !== inSync) return 'overtaken';
    if (offset === null || gate.redisProcessId !== redisProcessId || gate.connection !== opened) return null;
    return { redisProcessId, connection: opened, offset, atMs: performance.now() };
  }

  /** The offset that all replicas hold; `null`: one is missing or late. Throws errors of Redis. */
  private async heldBy(inSync: InSync, connection: RoundConnection): Promise<number | null> {
    const { redis } = connection;
    const { timeoutMs } = this.options;
    const { replicas } = inSync;
    if (this.away) {
      const missing = await replicas.missing(redis);
      if (missing.length > 0) return this.goOnWithout(missing, inSync, connection);
    }
    const deadlineMs = performance.now() + timeoutMs;
    let first: Attached | null = null;
    for (;;) {
      const leftMs = Math.ceil(deadlineMs - performance.now());
      const reached = await replicas.held(redis, this.shard, Math.max(1, Math.min(SLICE_MS, leftMs)));
      if (typeof reached === 'number') return reached;
      first ??= reached;
      await this.goOnWithout(replicas.behind(reached, first.offset), inSync, connection);
      if (this.inSync !== inSync || leftMs <= SLICE_MS) return null;
    }
  }

  /** Lets other replicas count if the Sentinels rule out that one of `names` is or becomes the master. */
  private async goOnWithout(names: readonly string[], inSync: InSync, { redis }: RoundConnection): Promise<null> {
    const nowMs = performance.now();
    if (names.length === 0 || names.length === inSync.replicas.count || nowMs - this.askedMs < ASK_AGAIN_MS)
      return null;
    this.askedMs = nowMs;
    const master = runIdOf(inSync.redisProcessId);
    if (!(await cannotHaveTakenOver(redis.options, master, names))) return null;
    const replicas = await InSyncReplicas.find(redis, this.shard, this.options.timeoutMs);
    if (replicas === null || this.inSync !== inSync) return null;
    this.inSync = { redisProcessId: inSync.redisProcessId, replicas };
    this.options.onGone?.(names);
    return null;
  }

  private async isThere(connection: RoundConnection, redisProcessId: string): Promise<boolean> {
    const where = await connection.leadsTo(redisProcessId);
    if (where === 'former' && this.options.gate.redisProcessId === redisProcessId) this.options.onElsewhere?.();
    return where === 'there';
  }

  /** While no replica acknowledges, locates the master repeatedly, to follow a failover soon. */
  private checkLater(connection: RoundConnection): void {
    if (performance.now() - this.renewedMs > this.missingMs) this.renew();
    else if (connection.isOlderThan(LOOK_AGAIN_MS)) connection.renew();
  }

  /** Finds the replicas again over new connections to where the name or the Sentinels now lead. */
  private renew(): void {
    this.inSync = null;
    this.renewedMs = performance.now();
    for (const connection of this.connections) connection.renew();
  }

  private turn(isAway: boolean): void {
    this.away = isAway;
    this.renewedMs = performance.now();
    if (isAway && isOfCluster(this.options.redis)) void this.readNodeTimeout();
    if (this.closing.signal.aborted) return;
    this.options.onChange?.(isAway);
    if (isAway) void this.tryAgain();
  }

  private async readNodeTimeout(): Promise<void> {
    const setting = this.options.redis.call('CONFIG', 'GET', 'cluster-node-timeout');
    const timeoutMs = Number(fieldsOf(await setting.catch(() => [])).get('cluster-node-timeout') ?? NODE_TIMEOUT_MS);
    this.missingMs = timeoutMs + BEYOND_NODE_TIMEOUT_MS;
  }

  private async tryAgain(): Promise<void> {
    while (this.away && !this.closing.signal.aborted) {
      await this.pause(RETRY_MS);
      await this.wait().catch(() => undefined);
    }
  }

  private pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.closing.signal }).catch(() => undefined);
  }
}
