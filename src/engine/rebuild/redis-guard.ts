import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { LogThrottle } from '../../log/log-throttle.ts';
import type { Log } from '../../log/log.ts';
import { OtherVersionRuns } from '../../postgres/running-versions.ts';
import { connectAgain } from '../../redis/connect-again.ts';
import { Gate } from '../../redis/gate.ts';
import { ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import type { Accepted } from '../../redis/gate.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { isFenceOf, readRun, RedisIsReplica, runOfFence, serverOf, succeeds } from '../../redis/run.ts';
import { leftOut } from '../notifications/left-out.ts';
import { sayWhatIsSetAside } from '../persist/set-aside.ts';
import { accept, ForeignRedis, WrongLayout } from './accept.ts';
import { readEpoch } from '../../postgres/rebuild/epoch.ts';
import { epochOf, isOfEpoch, LOOK_MS, PostgresIsOlder, readGaps, readMarks, RedisIsSuperseded } from './inspect.ts';
import { lostWrites } from './lost-writes.ts';
import type { Placement } from './placement.ts';
import type { RebuildProgress } from './rebuild.ts';
import { unnamedRedisTexts } from './unnamed-redis.ts';

export interface RedisGuardOptions {
  /** A plain connection to one server. */
  redis: Redis;
  /** Its name, as Postgres knows it; without it nobody asks where its shards are. */
  name?: string;
  /** Those that are placed on it at first; all unless said otherwise. */
  shards?: readonly number[];
  /** Those, also of others, that hold a tenant: only of those reads ask, so the others are not looked at all the time. All without it. */
  inUse?: () => readonly number[];
  /** Asked where shards are that are found shut; without it they are where they were. */
  placement?: Pick<Placement, 'follow'>;
  /** Where there are several: what this one is called, and what the guards of all share; null: there is one. */
  server?: { name: string; shared: SharedByGuards } | null;
  pool: Pool;
  log: Log;
  /** The position of the last write that this process acknowledged, by shard: a Redis that takes over is asked whether it holds that. */
  acknowledged?: () => ReadonlyMap<number, string>;
  /** How long a replica may take to have what was written (`ReplicaAcknowledgement`); null, or without it: none has to. */
  acknowledgeMs?: number | null;
}

/** What the guards of several servers know of each other. */
export interface SharedByGuards {
  /** Run → the name of the server that was found in it. */
  runs: Map<string, string>;
  /** The names of the servers that show that Postgres came back older, which concerns the shards of all. */
  older: Set<string>;
}

/** How soon a shut one is looked at again. */
const RETRY_MS = 100;
/** How soon another connection is made where one did not lead to the master. */
const ELSEWHERE_MS = 500;
/**
 * How often Postgres is asked whether it still goes together with an open Redis, once this process wrote something, and at
 * rest; and how long that may take.
 */
const ASK_MS = 5_000;
const ASK_AT_REST_MS = 60_000;
const ANSWER_MS = 1_000;
/** The same line, and progress, is not logged again sooner. */
const REPEAT_MS = 5_000;

/**
 * Keeps the gate of a connection: looks at Redis whenever the connection is a new one or leads to a replica, or something was
 * found missing, has the shards rebuilt where that is needed (in one process; the others wait), and opens each of them when it
 * holds what Postgres does. While one is shut, its scripts are refused and its tenants' requests answered 503; the others are
 * looked after all the same.
 */
export class RedisGuard {
  readonly gate: Gate;
  private readonly options: RedisGuardOptions;
  private readonly ending = new AbortController();
  private running: Promise<void> | null = null;
  private readonly logThrottle = new LogThrottle(REPEAT_MS);
  private refused: ForeignRedis | WrongLayout | null = null;
  private askedMs = -Infinity;
  /** Ends the wait for the next look. */
  private wake = (): void => undefined;
  private askedOf = '';
  /** As what each shard was accepted last. */
  private readonly accepted = new Map<number, Accepted>();
  private accepting: Promise<void> | null = null;
  /** The run of Redis that shards were accepted in last, and the address that it answered at. */
  private followed: { run: string; address: string } | null = null;
  /** Own shards that were moved to a Redis that this process does not know, and its name. */
  private unknown: ReadonlyMap<number, string> = new Map();
  /** How often this process rebuilt some of the shards. */
  rebuilds = 0;
  /** Not before then is a shard that is shut tried again. */
  private againMs = -Infinity;

  constructor(options: RedisGuardOptions) {
    this.options = options;
    const { redis, log, acknowledgeMs = null } = options;
    this.gate = new Gate(redis, options.shards);
    this.gate.listen(() => this.wake());
    if (acknowledgeMs === null) return;
    // Each change is logged: a line that is left out would leave the log with the opposite of what holds.
    const onChange = (isAway: boolean): void =>
      isAway
        ? log.error(
            { acknowledgeMs, ...this.where },
            'no replica acknowledges what is written: writes are answered 503 until one does',
          )
        : log.info(this.where, 'the replicas acknowledge what is written again: writes are taken');
    const onGone = (replicas: readonly string[]): void =>
      log.warn(
        { replicas, ...this.where },
        'replicas are gone, as all Sentinels say: writes go on with the other replicas',
      );
    this.gate.acknowledgement = new ReplicaAcknowledgement({
      redis,
      gate: this.gate,
      timeoutMs: acknowledgeMs,
      onChange,
      onGone,
      onElsewhere: () => void this.leave(),
    });
  }

  /** Of the server; '' where nobody said. */
  get name(): string {
    return this.options.name ?? '';
  }

  private get shards(): readonly number[] {
    return this.gate.own;
  }

  /** Begins; resolves when all shards are open, or after `waitMs`: what takes longer goes on behind. Rejects for a Redis of another Laurel. */
  async start(waitMs = 2_000): Promise<void> {
    this.running = this.run();
    const deadlineMs = performance.now() + waitMs;
    while (!this.gate.isWhole && performance.now() < deadlineMs) {
      if (this.refused !== null) throw this.refused;
      await sleep(5);
    }
  }

  /** Ends, and with it a rebuild under way in this process. */
  async close(): Promise<void> {
    this.ending.abort();
    this.wake();
    await this.running;
    await this.accepting;
    this.gate.acknowledgement?.close();
  }

  /** The own shards that are on a Redis which REDIS_URL does not name here, with its name: they stay shut. */
  get elsewhere(): ReadonlyMap<number, string> {
    return this.unknown;
  }

  private async run(): Promise<void> {
    const { gate } = this;
    const { redis } = this.options;
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        if (redis.status === 'ready') await this.look();
      } catch (error) {
        await this.failed(error);
      }
      if (!signal.aborted) await this.untilWoken(gate.isWhole ? LOOK_MS : RETRY_MS);
    }
  }

  /** What a line of the log says of the server. */
  private get where(): { redis?: string } {
    const { server = null } = this.options;
    return server === null ? {} : { redis: server.name };
  }

  private async failed(error: unknown): Promise<void> {
    if (this.ending.signal.aborted) return;
    if (isRefused(error)) this.refused = error;
    // It may be open from before it was known.
    if (error instanceof WrongLayout) this.gate.shut();
    this.complain(error);
    if (isElsewhere(error)) return this.leave();
    // Somebody has to decide, which takes longer.
    if (needsSomebody(error)) this.againMs = performance.now() + ASK_MS;
    if (!(error instanceof PostgresIsOlder)) return;
    const { server = null } = this.options;
    server?.shared.older.add(server.name);
    this.doubtAll();
  }

  /** What the other shards took while Postgres is older would be lost with it. */
  private doubtAll(): void {
    for (const shard of this.shards) this.gate.doubt(shard);
  }

  /** Whether other servers show that Postgres came back older, and this one does not. */
  private get isHeldByOthers(): boolean {
    const { server = null } = this.options;
    return server !== null && server.shared.older.size > 0 && !server.shared.older.has(server.name);
  }

  /**
   * Shuts what is not what it was accepted as: emptied, rebuilt by another process, made a replica and a master again since, or
   * superseded. Opens what is that still: a broken connection alone, for which Postgres is not needed. Has the others
   * accepted, which may take as long as a rebuild, beside the next looks.
   */
  private async look(): Promise<void> {
    const { gate, accepted } = this;
    const { redis } = this.options;
    const { connection } = gate;
    const isDue = gate.run !== null && this.isDue();
    if (isDue) await this.refuseOlder();
    if (this.isHeldByOthers) return this.doubtAll();
    const { own, beliefs } = gate;
    const [run, marks] = await Promise.all([readRun(redis), readMarks(redis, this.lookedAt())]);
    this.refuseSame(run);
    const isSame = (shard: number): boolean => {
      const known = accepted.get(shard);
      return (
        known !== undefined && isFenceOf(known.fence, run) && (!marks.has(shard) || marks.get(shard) === known.mark)
      );
    };
    // Nearly every look ends here, in every process twice a second: so nothing is made for each of 256 shards before.
    if (!isDue && gate.isWhole && gate.own.every(isSame)) return;
    const same = new Map(own.filter(isSame).map((shard) => [shard, accepted.get(shard)!]));
    const doubtful = [...same.keys()].filter((shard) => gate.isDoubted(shard));
    for (const shard of doubtful) same.delete(shard);
    const opening = [...same.keys()].some((shard) => !gate.isOpen(shard));
    if (isDue || opening) for (const shard of await this.superseded(same, run)) same.delete(shard);
    for (const shard of this.shards) {
      const belief = gate.belief(shard);
      if (belief !== null && belief === beliefs[shard] && !same.has(shard)) gate.shut(shard);
    }
    if (opening) gate.open(same, connection);
    if (gate.shutShards.every((shard) => same.has(shard))) return;
    await this.followMoves();
    const rest = gate.shutShards.filter((shard) => !same.has(shard) && !this.unknown.has(shard));
    if (rest.length === 0 || this.accepting !== null || performance.now() < this.againMs) return;
    await this.refuseMisplaced();
    this.accepting = this.accept(rest)
      .catch((error: unknown) => this.failed(error))
      .finally(() => (this.accepting = null));
    // What takes no rebuild is waited for, so that nothing else is asked of Redis meanwhile.
    await Promise.race([this.accepting, this.pause(LOOK_MS)]);
  }

  /** The own shards that hold a tenant. */
  private get used(): readonly number[] {
    const { inUse } = this.options;
    return inUse === undefined ? this.shards : inUse().filter((shard) => this.gate.holds(shard));
  }

  /**
   * The shards whose marks are looked at: those that somebody reads from, and those to be opened. Of 256 the others have neither
   * tenants nor keys, and what is written to them is compared by the function itself.
   */
  private lookedAt(): readonly number[] {
    return this.gate.isWhole ? this.used : [...new Set([...this.used, ...this.gate.shutShards])];
  }

  /** Goes by where the shards are by now, and says which of them are where this process cannot look. */
  private async followMoves(): Promise<void> {
    const { placement, log } = this.options;
    const unknown = (await placement?.follow()) ?? new Map<number, string>();
    const own = new Set(this.shards);
    this.unknown = new Map([...unknown].filter(([shard]) => own.has(shard)));
    for (const [redis, text] of unnamedRedisTexts(this.unknown))
      this.logThrottle.log(`moved ${redis}`, () => log.error({ redis }, text));
  }

  /** Throws where another entry of REDIS_URL leads to the same process. */
  private refuseSame(run: string): void {
    const { server = null } = this.options;
    if (server === null) return;
    const { runs } = server.shared;
    const other = runs.get(run);
    if (other !== undefined && other !== server.name)
      throw new WrongLayout(`"${other}" and "${server.name}" are one server`);
    for (const [earlier, name] of runs) if (name === server.name && earlier !== run) runs.delete(earlier);
    runs.set(run, server.name);
  }

  /** Throws where this server holds shards that are placed on another: its entry and another one were exchanged. */
  private async refuseMisplaced(): Promise<void> {
    const { server = null, redis, pool, placement } = this.options;
    if (server === null) return;
    const marks = await readMarks(redis);
    // Behind the marks: a shard that was moved here is placed before it is marked.
    await placement?.follow();
    const { installation, cursors } = await readEpoch(pool);
    const others = SHARD_NUMBERS.filter(
      (shard) =>
        !this.shards.includes(shard) && isOfEpoch(marks.get(shard) ?? null, installation, epochOf(cursors[shard]!)),
    );
    if (others.length > 0)
      throw new WrongLayout(`"${server.name}" holds the shards ${others.join(', ')}, which are placed on another`);
  }

  private async accept(shards: readonly number[]): Promise<void> {
    const { redis, name, pool, log } = this.options;
    const { connection } = this.gate;
    const startedMs = performance.now();
    const seconds = (): number => Math.round((performance.now() - startedMs) / 100) / 10;
    const which = shards.length === this.shards.length ? this.where : { ...this.where, shards };
    let rebuilt = false;
    let toldMs = startedMs;
    const accepted = await accept({
      redis,
      ...(name !== undefined && { name }),
      pool,
      shards,
      ending: this.ending.signal,
      onSetAside: (entry) => sayWhatIsSetAside(log, entry),
      onLeftOut: leftOut({ redis, log }),
      onUnreadable: ({ tenantNo }) =>
        log.error({ tenantNo }, "A user's state in Postgres cannot be read: `laurel verify` names the user"),
      onNeeded: (_, why, first) => {
        // On a new installation Redis is empty as it should be, and there is nothing to say.
        rebuilt = !first;
        if (first) return;
        log.warn(
          { why, ...which },
          'Redis lacks something that Postgres holds: its keys are rebuilt, and requests are answered 503 until then',
        );
      },
      onProgress: ({ step, done, total }: RebuildProgress) => {
        if (performance.now() - toldMs < REPEAT_MS) return;
        toldMs = performance.now();
        log.info({ step, done, total, ...which, seconds: seconds() }, 'rebuilding Redis');
      },
    });
    await this.nameLosses([...accepted.keys()].filter((shard) => this.accepted.has(shard)));
    for (const [shard, as] of accepted) this.accepted.set(shard, as);
    const { server = null } = this.options;
    if (accepted.size > 0) server?.shared.older.delete(server.name);
    this.gate.open(accepted, connection);
    const [first] = accepted.values();
    if (first !== undefined) await this.sayFollowed(runOfFence(first.fence));
    if (!rebuilt) return;
    this.rebuilds += 1;
    log.info({ ...which, seconds: seconds() }, 'Redis is rebuilt');
  }

  /** Logs that another run of Redis was accepted in the place of an earlier one: a master that moved is no fault by itself. */
  private async sayFollowed(run: string): Promise<void> {
    const { redis, log } = this.options;
    const { remoteAddress = '', remotePort = '' } = redis.stream as Partial<Socket>;
    const now = { run, address: `${remoteAddress}:${remotePort}` };
    const earlier = this.followed;
    this.followed = now;
    if (earlier === null || earlier.run === run) return;
    if (serverOf(earlier.run) === serverOf(run)) return log.info(this.where, 'Redis was a replica and leads again');
    const isMoved = earlier.address !== now.address || (await succeeds(redis, earlier.run).catch(() => false));
    log.info(this.where, isMoved ? 'followed the new master' : 'Redis was started again');
  }

  /** Logs what was acknowledged in some shards and is lost, if anything is. */
  private async nameLosses(shards: readonly number[]): Promise<void> {
    const { log } = this.options;
    const positions = this.options.acknowledged?.() ?? [];
    const last = new Map([...positions].filter(([shard]) => shards.includes(shard)));
    for (const { shard, acknowledged, held } of await lostWrites(this.options, last)) {
      log.error(
        { shard, acknowledged, held },
        'EVENTS ARE LOST: Redis took over without the last writes that were acknowledged, and Postgres has not stored them',
      );
    }
  }

  /**
   * Those of some shards that Postgres knows otherwise since: they are being rebuilt, or were, by another process. Throws
   * RedisIsSuperseded where another Redis was accepted, by a process that sees another master. Postgres is not
   * needed for a broken connection alone: without its answer it is taken that nothing changed.
   */
  private async superseded(accepted: ReadonlyMap<number, Accepted>, run: string): Promise<number[]> {
    this.askedMs = performance.now();
    const stored = await this.inTime(readEpoch(this.options.pool), null);
    if (stored === null) return [];
    const others = [...accepted].flatMap(([shard, { fence }]) =>
      stored.cursors[shard]!.fence === fence ? [] : [{ shard, run: runOfFence(stored.cursors[shard]!.fence) }],
    );
    if (others.some((other) => other.run !== '' && other.run !== run)) throw new RedisIsSuperseded();
    return others.map(({ shard }) => shard);
  }

  /** Whether Postgres is to be asked again. */
  private isDue(): boolean {
    const sinceMs = performance.now() - this.askedMs;
    if (sinceMs < ASK_MS) return false;
    const acknowledged = [...(this.options.acknowledged?.().values() ?? [])].join();
    if (acknowledged === this.askedOf && sinceMs < ASK_AT_REST_MS) return false;
    this.askedOf = acknowledged;
    return true;
  }

  /**
   * Throws PostgresIsOlder where Postgres came back older, and not all that it lacks is kept; without its answer it is taken that
   * it did not.
   */
  private async refuseOlder(): Promise<void> {
    const gaps = await this.inTime(readGaps(this.options.redis, this.options.pool, this.used), []);
    if (gaps.length > 0) throw new PostgresIsOlder(gaps);
  }

  /** What is answered in time and without an error, else `otherwise`. */
  private async inTime<T>(asked: Promise<T>, otherwise: T): Promise<T> {
    const answered = new AbortController();
    const late = sleep(ANSWER_MS, otherwise, { signal: AbortSignal.any([answered.signal, this.ending.signal]) });
    try {
      return await Promise.race([asked.catch(() => otherwise), late.catch(() => otherwise)]);
    } finally {
      answered.abort();
    }
  }

  /** The master is elsewhere: the next connection goes where the name, or the Sentinels, lead by then. */
  private async leave(): Promise<void> {
    this.gate.shut();
    await this.pause(ELSEWHERE_MS);
    if (!this.ending.signal.aborted) connectAgain(this.options.redis);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.ending.signal }).catch(() => undefined);
  }

  /**
   * Resolves when the gate shuts or opens, after `ms`, or at the end. A bare timer, since every process waits so twice a second
   * for ever: a signal made for each wait was as much CPU again.
   */
  private async untilWoken(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private complain(error: unknown): void {
    const message =
      isRefused(error) || needsSomebody(error) || isElsewhere(error)
        ? error.message
        : 'Redis could not be checked; trying again';
    this.logThrottle.log('', () => this.options.log.error({ err: error, ...this.where }, message));
  }
}

/** Whether nothing is done to this Redis until somebody changes what REDIS_URL says, or what is there. */
const isRefused = (error: unknown): error is ForeignRedis | WrongLayout =>
  error instanceof ForeignRedis || error instanceof WrongLayout;

/** Whether nothing is rebuilt before somebody did something. */
const needsSomebody = (error: unknown): error is PostgresIsOlder | OtherVersionRuns =>
  error instanceof PostgresIsOlder || error instanceof OtherVersionRuns;

/** Whether it says that the master is elsewhere. */
const isElsewhere = (error: unknown): error is Error =>
  error instanceof RedisIsReplica || error instanceof RedisIsSuperseded;
