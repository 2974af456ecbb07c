import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { InSyncReplicas, offsetOf, type Attached } from './in-sync-replicas.ts';
import { serverOf } from './run.ts';
import { RoundConnection } from './round-connection.ts';
import { cannotHaveTakenOver } from './sentinels.ts';
import { WaitingWrites, type Place } from './waiting-writes.ts';

/** No replica has what was written, as far as is known: answered 503. It was written all the same, or nothing was tried. */
export class NotReplicated extends Error {
  constructor() {
    super('No replica of Redis acknowledges what is written.');
    this.name = 'NotReplicated';
  }
}

export interface ReplicaAcknowledgementOptions {
  /** The connection that writes. */
  redis: Redis;
  /** Its gate: the run of Redis, and the connection, that it is open for. */
  gate: { readonly run: string | null; readonly connection: number };
  /** How long a replica may take. */
  timeoutMs: number;
  /** Called when replicas stop to acknowledge, and when they begin again. */
  onChange?: (isAway: boolean) => void;
  /** Called with the addresses of replicas that are gone on without, since they cannot have become the master. */
  onGone?: (replicas: readonly string[]) => void;
  /** Called where the name, or the Sentinels, lead to another master than the gate is open for. */
  onElsewhere?: () => void;
}

/** The replicas that have to have what is written, and the run of their master. */
interface InSync {
  run: string;
  replicas: InSyncReplicas;
}

/** Rounds that may be under way at once: as many as commands of events to one server (`EventQueues`). */
const ROUNDS = 2;
/** How soon is tried again whether a replica acknowledges, and whether one that is slow has more by now. */
const RETRY_MS = 100;
const SLOW_MS = 10;
/** How soon it is looked whether one that does not acknowledge is missing. */
const SLICE_MS = 100;
/** How soon the Sentinels are asked again whether they cannot reach it. */
const ASK_AGAIN_MS = 200;
/** How long somebody waits who asks how many acknowledge. */
const MOMENT_MS = 250;
/** How soon is asked again where the master is, meanwhile. */
const LOOK_AGAIN_MS = 500;
/**
 * A replica that had all, and is missing: for so long nothing is acknowledged. It may have become the master, and Sentinels take
 * up to two seconds until they make the others its replicas. Then it is asked again where the master is, and gone on with those
 * replicas that are there. Nobody waits so long where all Sentinels say that it cannot have become the master (`cannotHaveTakenOver`).
 */
const MISSING_MS = 3_000;

/**
 * Waits until the replicas that kept up have what was written (`InSyncReplicas`): one at least, else nothing is acknowledged. It goes
 * by the offset of the master's history behind a write (ROLE, sent right behind it) and by the offsets that the replicas said
 * they have. Rounds of WAIT, on connections of their own so that the one that writes is not held up, have the replicas say that
 * and show when they did. A round begins beside a call: Redis asks the replicas by the same write that hands them the
 * call's effects. A message goes before WAIT, which Redis replicates and does not log, so that there is something to wait for.
 *
 * While they do not acknowledge, whoever wants to write is refused first, and it is tried again until they do. One that is missing is
 * waited for no longer than some seconds; no longer than it takes to ask the Sentinels where they rule out that it leads.
 */
export class ReplicaAcknowledgement {
  private readonly options: ReplicaAcknowledgementOptions;
  private readonly connections: readonly RoundConnection[];
  /** Null: to be found. */
  private inSync: InSync | null = null;
  private readonly writes = new WaitingWrites();
  /** Behind the last reply that was handed on by `noteOffset`. */
  private noted: Place | null = null;
  private scheduled = false;
  /** A call was sent while no connection was free for its round. */
  private isWanted = false;
  private away = false;
  /** When the Sentinels were asked last. */
  private askedMs = -Infinity;
  /** When the connections were last made again, or all was well. */
  private renewedMs = 0;
  private readonly closing = new AbortController();

  constructor(options: ReplicaAcknowledgementOptions) {
    this.options = options;
    const { redis, timeoutMs } = options;
    const ending = this.closing.signal;
    this.connections = Array.from({ length: ROUNDS }, () => new RoundConnection({ redis, timeoutMs, ending }));
  }

  /** Whether it is known that nobody would acknowledge a write. */
  get isAway(): boolean {
    return this.away;
  }

  /** To be called before something is written. Throws NotReplicated while it is known that nobody would acknowledge it. */
  refuseAway(): void {
    if (this.away) throw new NotReplicated();
  }

  /**
   * Hands on the reply to a write once it is known how far the master's history went behind it. To be called in the turn in which the
   * write is sent, over the connection that writes. Rejects as the write does, with what broke the connection behind it, or with
   * NotReplicated where the master is one no more.
   */
  async noteOffset<T>(reply: Promise<T>): Promise<T> {
    const asked = this.askOffset();
    this.schedule();
    const [answer, place] = await Promise.all([reply, asked]);
    this.noted = place;
    return answer;
  }

  /**
   * Resolves when the replicas have all whose replies `noteOffset` handed on before the call; rejects with NotReplicated when they
   * have not in time: what was written may be kept, or lost with the master.
   */
  async waitForNoted(): Promise<void> {
    if (this.noted === null) throw new NotReplicated();
    await this.waitFor(this.noted);
  }

  /** The same of all that Redis answered before the call, to anybody. */
  async wait(): Promise<void> {
    const place = await this.askOffset().catch(() => {
      throw new NotReplicated();
    });
    await this.waitFor(place);
  }

  /** How many replicas acknowledge what is written, as far as is known in a moment; 0: writes are refused. */
  async acknowledging(): Promise<number> {
    const asked = this.wait().catch(() => undefined);
    await Promise.race([asked, this.pause(MOMENT_MS)]);
    return this.away ? 0 : (this.inSync?.replicas.count ?? 0);
  }

  /** Ends; what waits is rejected. */
  close(): void {
    this.closing.abort();
    this.writes.reject(() => new NotReplicated());
  }

  private async askOffset(): Promise<Place> {
    const { redis, gate } = this.options;
    const { run, connection } = gate;
    const atMs = performance.now();
    const offset = offsetOf(await redis.call('ROLE'));
    if (offset === null || run === null) throw new NotReplicated();
    return { run, connection, offset, atMs };
  }

  private async waitFor(place: Place): Promise<void> {
    if (this.closing.signal.aborted) throw new NotReplicated();
    const held = this.writes.wait(place);
    if (!this.writes.isEmpty && !this.isUnderWay) this.schedule();
    await held;
  }

  private get isUnderWay(): boolean {
    return this.connections.some(({ isBusy }) => isBusy);
  }

  /** Has a round begin at the end of the turn, behind what was written in it. Calls of one turn share it. */
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
    const held = await this.ask(connection).catch(() => null);
    connection.isBusy = false;
    if (held !== 'overtaken') this.settle(held);
    if (this.closing.signal.aborted) return;
    // Others made up the number of those that were waited for: the one that has less has it in a moment, or is missing.
    if (this.writes.isSince(begunMs)) await this.pause(SLOW_MS);
    if (!this.isWanted && (this.writes.isEmpty || this.isUnderWay)) return;
    this.isWanted = false;
    this.schedule();
  }

  /** `held`: null if a replica is missing, or late. */
  private settle(held: Place | null): void {
    const { gate, timeoutMs } = this.options;
    if (held !== null) this.writes.settle(held, () => new NotReplicated());
    const isLate = held === null || this.writes.isSince(performance.now() - timeoutMs);
    // They are back when they have what is waited for.
    const isAway = isLate || (this.away && !this.writes.isEmpty);
    // A gate that is shut says nothing about replicas.
    if (gate.run !== null && isAway !== this.away) this.turn(isAway);
    if (isLate) this.writes.reject(() => new NotReplicated());
  }

  /**
   * What the replicas have; null: one of them is missing, or late. It must be the Redis, and the history of its writes, that the gate
   * is open for: before, and still afterwards. `overtaken`: meanwhile others became those that count.
   */
  private async ask(connection: RoundConnection): Promise<Place | null | 'overtaken'> {
    const { gate, timeoutMs } = this.options;
    if (this.away) this.lookAgain(connection);
    await connection.ready(timeoutMs);
    const { run, connection: opened } = gate;
    if (run === null || !(await this.isThere(connection, run))) return null;
    if (this.inSync?.run !== run) {
      const replicas = await InSyncReplicas.find(connection.redis, timeoutMs);
      this.inSync = replicas === null ? null : { run, replicas };
    }
    const { inSync } = this;
    if (inSync === null) return null;
    const offset = await this.heldBy(inSync, connection).catch(() => null);
    if (this.inSync !== inSync) return 'overtaken';
    if (offset === null || gate.run !== run || gate.connection !== opened) return null;
    return { run, connection: opened, offset, atMs: performance.now() };
  }

  /**
   * How far the replicas have the master's history of writes; null: one of them is missing, or late. Where those are gone, others
   * become those that count. Errors of Redis.
   */
  private async heldBy(inSync: InSync, connection: RoundConnection): Promise<number | null> {
    const { redis } = connection;
    const { timeoutMs } = this.options;
    const { replicas } = inSync;
    if (this.away) {
      // One that is missing need not be waited for.
      const missing = await replicas.missing(redis);
      if (missing.length > 0) return this.goOnWithout(missing, inSync, connection);
    }
    const deadlineMs = performance.now() + timeoutMs;
    let first: Attached | null = null;
    for (;;) {
      const leftMs = Math.ceil(deadlineMs - performance.now());
      const held = await replicas.held(redis, Math.max(1, Math.min(SLICE_MS, leftMs)));
      if (typeof held === 'number') return held;
      first ??= held;
      await this.goOnWithout(replicas.behind(held, first.offset), inSync, connection);
      if (this.inSync !== inSync || leftMs <= SLICE_MS) return null;
    }
  }

  /**
   * Has others become those that count, where the Sentinels rule out that one of `names` is the master, or becomes it before it
   * reaches them again. Else nothing. Errors of Redis.
   */
  private async goOnWithout(names: readonly string[], inSync: InSync, { redis }: RoundConnection): Promise<null> {
    const nowMs = performance.now();
    if (names.length === 0 || names.length === inSync.replicas.count || nowMs - this.askedMs < ASK_AGAIN_MS)
      return null;
    this.askedMs = nowMs;
    const master = serverOf(inSync.run);
    if (!(await cannotHaveTakenOver({ options: redis.options, master, replicas: names }))) return null;
    const replicas = await InSyncReplicas.find(redis, this.options.timeoutMs);
    if (replicas === null || this.inSync !== inSync) return null;
    this.inSync = { run: inSync.run, replicas };
    this.options.onGone?.(names);
    return null;
  }

  private async isThere(connection: RoundConnection, run: string): Promise<boolean> {
    const where = await connection.leadsTo(run);
    if (where === 'former' && this.options.gate.run === run) this.options.onElsewhere?.();
    return where === 'there';
  }

  /**
   * While replicas do not acknowledge it is asked again and again where the master is, so that a takeover is followed as soon as the
   * Sentinels know of it. Only those that are missing for long are gone on without.
   */
  private lookAgain(connection: RoundConnection): void {
    if (performance.now() - this.renewedMs > MISSING_MS) this.renew();
    else if (connection.isOlderThan(LOOK_AGAIN_MS)) connection.renew();
  }

  /** The replicas are to be found again, by connections made again to where the name, or the Sentinels, lead now. */
  private renew(): void {
    this.inSync = null;
    this.renewedMs = performance.now();
    for (const connection of this.connections) connection.renew();
  }

  private turn(isAway: boolean): void {
    this.away = isAway;
    this.renewedMs = performance.now();
    if (this.closing.signal.aborted) return;
    this.options.onChange?.(isAway);
    if (isAway) void this.tryAgain();
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
