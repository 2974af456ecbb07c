import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import {
  type Accepted,
  type ClosedReason,
  epochNumberOf,
  lastAccepted,
  redisProcessIdOf,
} from '../../domain/shard-state.ts';
import type { Log } from '../../telemetry/log.ts';
import { readCursors, readSpreads, spreadAtFirst, type StoredCursor } from '../../postgres/shards.ts';
import { OtherVersionRuns } from '../../postgres/running-versions.ts';
import { connectAgain, isElsewhere } from '../../redis/outage.ts';
import { followCluster, isOfCluster } from '../../redis/endpoints.ts';
import { Gate, RedisNotReady } from '../../redis/gate.ts';
import { markKey } from '../../redis/keys.ts';
import { noteSpreads } from '../../redis/parts.ts';
import { readRedisProcessId, RedisIsReplica } from '../../redis/server-info.ts';
import { ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import { leftOut } from '../notifications/left-out.ts';
import { logSetAside } from '../persist/refused-entries.ts';
import { LOOK_MS, markOf } from '../rebuild/marks.ts';
import type { RebuildProgress } from '../rebuild/rebuild.ts';
import { accept, ForeignRedis } from './accept.ts';
import { createGuardLog, REPEAT_MS } from './guard-log.ts';
import { lostWrites, PostgresIsOlder, readGaps, readMarks, RedisIsSuperseded } from './inspection.ts';

export interface RedisGuardOptions {
  redis: Redis;
  /** The server's name in metrics and, if there are several servers, in the log. */
  name?: string;
  /** The shards that the server holds at first; default: all. */
  shards?: readonly number[];
  /** The shards of any server that hold a tenant; default: all. Only these are inspected regularly. */
  inUse?: () => readonly number[];
  /** The guards whose servers show that Postgres was restored from an older state. This affects the shards of all servers. */
  older?: Set<RedisGuard>;
  pool: Pool;
  log: Log;
  /** Receives Redis's time (epoch ms) after each check. */
  onRedisTime?: (redisMs: number) => void;
  /** The position of this process's last acknowledged write, by shard. A Redis that takes over is checked for it. */
  acknowledged?: () => ReadonlyMap<number, string>;
  /** How long a replica may take to acknowledge a write (`ReplicaAcknowledgement`); `null` if none has to. */
  acknowledgeMs?: number | null;
}

/** Interval between checks while a shard is closed. */
const RETRY_MS = 100;
/** Delay before the next connection if the last one did not lead to the master. */
const ELSEWHERE_MS = 500;
/** Interval between comparisons with Postgres, and the timeout for its answer. */
const CHECK_MS = 5_000;
const CHECK_AT_REST_MS = 60_000;
const ANSWER_MS = 1_000;
/**
 * Watches one server and drives the states of its shards (`shard-state.ts`). Checks Redis often while a shard is closed
 * and twice a second otherwise, inspects shards that changed, and has incomplete ones rebuilt (by one process; the
 * others wait). Tenants of a closed shard get 503; the other shards are served meanwhile.
 */
export class RedisGuard {
  readonly gate: Gate;
  /** How often this process rebuilt shards of the server. */
  rebuilds = 0;
  private readonly options: RedisGuardOptions;
  private readonly ending = new AbortController();
  private readonly lines: ReturnType<typeof createGuardLog>;
  private running: Promise<void> | null = null;
  private readonly inspections = new Set<Promise<void>>();
  /** For each shard that the cluster moves key by key and this process never accepted: its mark, by Postgres, during the move. */
  private readonly movedMarks = new Map<number, string>();
  /** Ends the wait for the next check. */
  private wake = (): void => undefined;
  private refused: ForeignRedis | null = null;
  private checkedMs = -Infinity;
  /** The acknowledged positions at the last comparison with Postgres. */
  private checkedAt = '';

  constructor(options: RedisGuardOptions) {
    this.options = options;
    const { redis, log, acknowledgeMs = null } = options;
    this.gate = new Gate(redis, options.shards);
    this.gate.listen(() => this.wake());
    redis.on('ready', () => this.wake());
    this.lines = createGuardLog({ redis, name: this.name, gate: this.gate, log });
    if (acknowledgeMs === null) return;
    this.gate.acknowledgement = new ReplicaAcknowledgement({
      redis,
      gate: this.gate,
      timeoutMs: acknowledgeMs,
      onChange: (isAway) => this.lines.acknowledgement(isAway, acknowledgeMs),
      onGone: (replicas) =>
        log.warn(
          { replicas, ...this.lines.where() },
          'replicas are gone, as all Sentinels say: writes go on with the other replicas',
        ),
      onElsewhere: () => void this.leave(),
    });
  }

  get name(): string {
    return this.options.name ?? '';
  }

  /** Resolves when all shards are open or after `waitMs`; goes on meanwhile. Rejects for another installation's Redis. */
  async start(waitMs = 2_000): Promise<void> {
    this.running = this.run();
    const deadlineMs = performance.now() + waitMs;
    while (!this.gate.isWhole && performance.now() < deadlineMs) {
      if (this.refused !== null) throw this.refused;
      await sleep(5);
    }
  }

  async close(): Promise<void> {
    this.ending.abort();
    this.wake();
    await this.running;
    await Promise.all(this.inspections);
    this.gate.acknowledgement?.close();
  }

  private async run(): Promise<void> {
    const { gate } = this;
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        if (this.options.redis.status === 'ready') await this.check();
      } catch (error) {
        await this.failed(error);
      }
      this.lines.closedShards();
      if (!signal.aborted) await this.untilWoken(gate.isWhole ? LOOK_MS : RETRY_MS);
    }
  }

  /** Inspects shards that changed. Reopens unchanged ones at once: only their connection broke. */
  private async check(): Promise<void> {
    const { gate } = this;
    const { redis } = this.options;
    const { connection, own } = gate;
    const isDue = gate.redisProcessId !== null && this.isCheckDue();
    if (isDue) await this.refuseOlder();
    if (this.isOlderByOthers) {
      gate.dispatch({ type: 'contradicted' });
      return;
    }
    const asOf = gate.accepted;
    const inspected = this.shardsToCheck();
    const [redisProcessId, marks] = await Promise.all([
      readRedisProcessId(redis, this.options.onRedisTime),
      readMarks(redis, inspected),
    ]);
    // The connection has already closed the shards that the server refused.
    const refused = new Set(inspected.filter((shard) => !marks.has(shard)));
    await this.noteMoves();
    const same = own.filter(
      (shard) => !refused.has(shard) && gate.isAsAccepted(shard, { redisProcessId, mark: marks.get(shard) }),
    );
    // Almost every check ends here.
    if (!isDue && gate.isWhole && same.length === own.length) return;
    const isOpening = same.some((shard) => !gate.isOpen(shard));
    const stored = isDue || isOpening ? await this.storedCursors(same, redisProcessId) : null;
    // Marks that were read over an earlier connection prove nothing.
    if (gate.connection !== connection) return;
    const nowMs = performance.now();
    const inspect = gate.dispatch(
      (shard) => ({
        type: 'seen',
        sight: { redisProcessId, mark: marks.get(shard), storageEpoch: stored?.[shard]?.storageEpoch },
        asOf: asOf[shard]!,
        nowMs,
      }),
      own.filter((shard) => gate.holds(shard) && !refused.has(shard)),
    );
    if (inspect.length > 0) await this.inspectAll(inspect);
  }

  /** Shards to check: those that hold tenants, and those about to open. Functions check the shards that they write to. */
  private shardsToCheck(): readonly number[] {
    const { gate } = this;
    return gate.isWhole ? this.used : [...new Set([...this.used, ...gate.closedShards])];
  }

  /** The shards of this server that hold a tenant. */
  private get used(): readonly number[] {
    const { inUse } = this.options;
    return inUse === undefined ? this.gate.own : inUse().filter((shard) => this.gate.holds(shard));
  }

  private async inspectAll(wanted: readonly number[]): Promise<void> {
    const { gate } = this;
    const { redis } = this.options;
    // An outdated view of the cluster must not decide where a shard is.
    await followCluster(redis);
    const closed = wanted.filter((shard) => gate.holds(shard) && gate.state(shard).name === 'closed');
    // After a slot move, open the shards with waiting callers first.
    const awaited = isOfCluster(redis) ? closed.filter((shard) => this.used.includes(shard)) : [];
    const shards = awaited.length > 0 ? awaited : closed;
    if (shards.length === 0) return;
    const inspection = this.inspect(shards);
    this.inspections.add(inspection);
    void inspection.finally(() => this.inspections.delete(inspection));
    // Wait for an inspection without a rebuild, so that it does not compete with further checks.
    await Promise.race([inspection, this.pause(LOOK_MS)]);
  }

  /** Whether another server, but not this one, shows that Postgres was restored from an older state. */
  private get isOlderByOthers(): boolean {
    const { older } = this.options;
    return older !== undefined && older.size > 0 && !older.has(this);
  }

  /** Compares some shards with Postgres, has incomplete ones rebuilt, and opens the accepted ones. Never rejects. */
  private async inspect(shards: readonly number[]): Promise<void> {
    const { gate } = this;
    const { redis, pool } = this.options;
    const cutShort = shards.filter((shard) => this.isKeyByKey(shard));
    const attempt = gate.beginInspection(shards);
    try {
      await this.discard(cutShort);
      if (isOfCluster(redis)) await spreadAtFirst(pool);
      const { accepted, opened } = await this.accept(shards, attempt);
      await this.logLosses([...accepted.keys()].filter((shard) => lastAccepted(gate.state(shard)) !== null));
      if (accepted.size > 0) {
        this.options.older?.delete(this);
        // A shard gets another mark when a tenant's users move to other shards, so this is read before it opens.
        noteSpreads(redis, await readSpreads(pool));
      }
      gate.accept(attempt, accepted);
      const [first] = accepted.values();
      if (first !== undefined) await this.lines.accepted(first.storageEpoch);
      opened();
    } catch (error) {
      await this.failed(error, { shards, attempt });
    } finally {
      gate.dispatch({ type: 'inspection ended', attempt }, shards);
    }
  }

  /** The shards of this server whose keys the cluster is moving to another node one by one. */
  get keyByKey(): number[] {
    return this.gate.closedShards.filter((shard) => this.isKeyByKey(shard));
  }

  private isKeyByKey(shard: number): boolean {
    const state = this.gate.state(shard);
    return state.name !== 'open' && state.reason === 'moved key by key';
  }

  /** Keeps `movedMarks`. Without Postgres's answer a mark stays unknown. */
  private async noteMoves(): Promise<void> {
    const moved = this.keyByKey.filter((shard) => lastAccepted(this.gate.state(shard)) === null);
    for (const shard of this.movedMarks.keys()) if (!moved.includes(shard)) this.movedMarks.delete(shard);
    const unknown = moved.filter((shard) => !this.movedMarks.has(shard));
    if (unknown.length === 0) return;
    const stored = await this.inTime(readCursors(this.options.pool), null);
    if (stored === null) return;
    const { installation, cursors } = stored;
    for (const shard of unknown)
      this.movedMarks.set(shard, markOf(installation, epochNumberOf(cursors[shard]!.storageEpoch)));
  }

  /** Has shards rebuilt that the server serves again after an aborted key-by-key move: some keys may be on the other node. */
  private async discard(cutShort: readonly number[]): Promise<void> {
    const { redis, log } = this.options;
    const marks = await readMarks(redis, cutShort);
    // A shard with another mark was rebuilt meanwhile, and other processes use it.
    const shards = cutShort.filter((shard) => {
      const before = lastAccepted(this.gate.state(shard))?.mark ?? this.movedMarks.get(shard);
      return before === undefined || marks.get(shard) === before;
    });
    if (shards.length === 0) return;
    log.warn(
      { shards, ...this.lines.where() },
      'a move of keys one by one was aborted, so keys may be missing here: the shards are rebuilt from Postgres',
    );
    await Promise.all(shards.map((shard) => redis.del(markKey(shard))));
  }

  /** `opened`: call it once the accepted shards are open. */
  private async accept(
    shards: readonly number[],
    attempt: number,
  ): Promise<{ accepted: ReadonlyMap<number, Accepted>; opened: () => void }> {
    const { redis, pool, log } = this.options;
    const { gate } = this;
    const startedMs = performance.now();
    const seconds = (): number => Math.round((performance.now() - startedMs) / 100) / 10;
    const where = shards.length === gate.own.length ? this.lines.where() : { ...this.lines.where(), shards };
    let isRebuilt = false;
    let toldMs = startedMs;
    const accepted = await accept({
      redis,
      pool,
      shards,
      ending: this.ending.signal,
      onSetAside: (entry) => logSetAside(log, entry),
      onLeftOut: leftOut(redis, log),
      onUnreadable: ({ tenantNo }) =>
        log.error({ tenantNo }, "A user's state in Postgres cannot be read: `laurel verify` names the user"),
      onRebuild: ({ why, first }) => {
        gate.dispatch({ type: 'rebuild began', attempt }, shards);
        // A new installation starts with an empty Redis.
        if (first) return;
        isRebuilt = true;
        log.warn(
          { why, ...where },
          'Redis lacks data that Postgres holds: its keys are rebuilt, and requests are answered 503 until then',
        );
      },
      onProgress: ({ step, done, total }: RebuildProgress) => {
        if (performance.now() - toldMs < REPEAT_MS) return;
        toldMs = performance.now();
        log.info({ step, done, total, ...where, seconds: seconds() }, 'rebuilding Redis');
      },
    });
    const opened = (): void => {
      if (!isRebuilt) return;
      this.rebuilds += 1;
      log.info({ ...where, seconds: seconds() }, 'Redis is rebuilt');
    };
    return { accepted, opened };
  }

  /** Logs acknowledged writes of some shards that are lost. */
  private async logLosses(shards: readonly number[]): Promise<void> {
    const positions = this.options.acknowledged?.() ?? [];
    const last = new Map([...positions].filter(([shard]) => shards.includes(shard)));
    for (const { shard, acknowledged, held } of await lostWrites(this.options, last)) {
      this.options.log.error(
        { shard, acknowledged, held },
        'EVENTS ARE LOST: Redis took over without the last writes that were acknowledged, and Postgres has not stored them',
      );
    }
  }

  /**
   * The cursors in Postgres; `null` if Postgres does not answer in time, since reopening after a broken connection does
   * not need it. Throws RedisIsSuperseded if another process accepted another Redis for one of the shards.
   */
  private async storedCursors(shards: readonly number[], redisProcessId: string): Promise<StoredCursor[] | null> {
    this.checkedMs = performance.now();
    const stored = await this.inTime(readCursors(this.options.pool), null);
    if (stored === null) return null;
    const { cursors } = stored;
    const processes = new Set(shards.map((shard) => redisProcessIdOf(cursors[shard]!.storageEpoch)));
    // In a cluster the nodes agree on who serves a shard. The shard is inspected here again, or followed to its new node.
    if (isOfCluster(this.options.redis)) return cursors;
    for (const other of processes) if (other !== '' && other !== redisProcessId) throw new RedisIsSuperseded();
    return cursors;
  }

  private isCheckDue(): boolean {
    const sinceMs = performance.now() - this.checkedMs;
    if (sinceMs < CHECK_MS) return false;
    const acknowledged = [...(this.options.acknowledged?.().values() ?? [])].join();
    if (acknowledged === this.checkedAt && sinceMs < CHECK_AT_REST_MS) return false;
    this.checkedAt = acknowledged;
    return true;
  }

  /** Throws PostgresIsOlder. Does nothing if Postgres does not answer in time. */
  private async refuseOlder(): Promise<void> {
    const gaps = await this.inTime(readGaps(this.options.redis, this.options.pool, this.used), []);
    if (gaps.length > 0) throw new PostgresIsOlder(gaps);
  }

  /** The promise's value if it resolves in time, else `otherwise`. */
  private async inTime<T>(answer: Promise<T>, otherwise: T): Promise<T> {
    const answered = new AbortController();
    const late = sleep(ANSWER_MS, otherwise, { signal: AbortSignal.any([answered.signal, this.ending.signal]) });
    try {
      return await Promise.race([answer.catch(() => otherwise), late.catch(() => otherwise)]);
    } finally {
      answered.abort();
    }
  }

  /** `inspection`: the one that failed; omitted if a check failed. */
  private async failed(error: unknown, inspection?: { shards: readonly number[]; attempt: number }): Promise<void> {
    if (this.ending.signal.aborted) return;
    const { gate } = this;
    // The cluster moved a shard or has a new master. The next check finds it.
    const isMoved =
      isOfCluster(this.options.redis) &&
      (error instanceof RedisNotReady || error instanceof RedisIsReplica || isElsewhere(error as Error));
    if (!isMoved) this.lines.failure(error);
    const retryAtMs = performance.now() + CHECK_MS;
    if (error instanceof RedisIsReplica || error instanceof RedisIsSuperseded) return this.leave();
    if (error instanceof ForeignRedis) this.refused = error;
    if (error instanceof PostgresIsOlder) {
      // Writes to the other shards would be lost as well.
      gate.dispatch({ type: 'contradicted', retryAtMs });
      this.options.older?.add(this);
    }
    if (inspection === undefined) return;
    const reason: ClosedReason | null =
      error instanceof OtherVersionRuns ? 'other version' : error instanceof ForeignRedis ? 'wrong server' : null;
    if (reason === null) return;
    const { shards, attempt } = inspection;
    gate.dispatch(
      { type: 'inspection ended', attempt, reason, ...(reason === 'other version' && { retryAtMs }) },
      shards,
    );
  }

  /** Connects again, to the address that the name or the Sentinels now lead to, or follows the cluster. */
  private async leave(): Promise<void> {
    this.gate.dispatch({ type: 'redirected' });
    await followCluster(this.options.redis);
    await this.pause(ELSEWHERE_MS);
    if (!this.ending.signal.aborted) connectAgain(this.options.redis);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.ending.signal }).catch(() => undefined);
  }

  /**
   * Resolves when a shard opens or closes, after `ms`, or at the end. A bare timer halves the CPU time of an abort
   * signal.
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
}
