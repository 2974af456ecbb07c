import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';
import { redisProcessIdOf, runIdOf } from '../../domain/shard-state.ts';
import { addTo } from '../../grouped.ts';
import { numberRanges } from '../../number-ranges.ts';
import { OtherVersionRuns } from '../../postgres/running-versions.ts';
import { isOfCluster } from '../../redis/endpoints.ts';
import type { Gate } from '../../redis/gate.ts';
import { connectedReplicas } from '../../redis/replicas.ts';
import { RedisIsReplica, tookOverFrom } from '../../redis/server-info.ts';
import { type Log, LogThrottle, OUTAGE_MS } from '../../telemetry/log.ts';
import { ForeignRedis } from './accept.ts';
import { PostgresIsOlder, RedisIsSuperseded } from './inspection.ts';

/** Interval between two equal lines in the log, or between two lines about a rebuild's progress. */
export const REPEAT_MS = 5_000;

/** Errors whose messages say what to do. */
const NAMED = [ForeignRedis, PostgresIsOlder, OtherVersionRuns, RedisIsReplica, RedisIsSuperseded];

interface GuardLogOptions {
  redis: Redis;
  /** The server's name in the lines, if there are several servers. */
  name: string;
  gate: Gate;
  log: Log;
}

/** The lines that a `RedisGuard` logs about its server. */
export function createGuardLog({ redis, name, gate, log }: GuardLogOptions) {
  const failures = new LogThrottle(REPEAT_MS);
  const closures = new LogThrottle(OUTAGE_MS);
  /** When the first closed shard closed; `null` if all are open. */
  let closedSinceMs: number | null = null;
  /** The Redis process that last had shards accepted, and its address. */
  let followed: { redisProcessId: string; address: string } | null = null;

  const where = (): { redis?: string } => (isOfCluster(redis) ? { redis: name } : {});

  function failure(error: unknown): void {
    const isNamed = NAMED.some((kind) => error instanceof kind);
    const message = isNamed ? (error as Error).message : 'Redis could not be checked; trying again';
    failures.log('', () => log.error({ err: error, ...where() }, message));
  }

  /** Logs the closed shards by reason if some have been closed for a while. */
  function closedShards(): void {
    const nowMs = performance.now();
    closedSinceMs = gate.isWhole ? null : (closedSinceMs ?? nowMs);
    if (closedSinceMs === null || nowMs - closedSinceMs < REPEAT_MS) return;
    const byReason = new Map<string, number[]>();
    for (const shard of gate.closedShards) {
      const state = gate.state(shard);
      if (state.name !== 'open') addTo(byReason, state.name === 'rebuilding' ? state.name : state.reason, shard);
    }
    const reasons = Object.fromEntries(Array.from(byReason, ([reason, shards]) => [reason, numberRanges(shards)]));
    closures.log('', () => log.warn({ reasons, ...where() }, 'shards are closed: their tenants are answered 503'));
  }

  /** Logs whether replicas acknowledge writes. Not throttled: the log could end with the opposite of the current state. */
  function acknowledgement(isAway: boolean, acknowledgeMs: number): void {
    if (!isAway) return log.info(where(), 'the replicas acknowledge writes again: writes are accepted');
    log.error({ acknowledgeMs, ...where() }, 'no replica acknowledges writes: they are answered 503 until one does');
    void missingReplica();
  }

  /** Logs if the server has no replica at all, as after slots were moved to a new master too early. Never rejects. */
  async function missingReplica(): Promise<void> {
    if ((await connectedReplicas(redis).catch(() => 1)) > 0 || gate.acknowledgement?.isAway !== true) return;
    const advice = isOfCluster(redis)
      ? 'Add one, and next time before slots are moved to a new master (docs/operating/servers.md, Add a node).'
      : 'Start one.';
    log.error(where(), `this Redis has no replica, which REDIS_ACKNOWLEDGE=replica needs. ${advice}`);
  }

  /** Logs that a different Redis process was accepted. A change of the master alone is not an error. */
  async function accepted(storageEpoch: string): Promise<void> {
    const redisProcessId = redisProcessIdOf(storageEpoch);
    const { remoteAddress = '', remotePort = '' } = redis.stream as Partial<Socket>;
    const address = `${remoteAddress}:${remotePort}`;
    const earlier = followed;
    followed = { redisProcessId, address };
    if (earlier === null || earlier.redisProcessId === redisProcessId) return;
    if (runIdOf(earlier.redisProcessId) === runIdOf(redisProcessId))
      return log.info(where(), 'Redis was a replica and leads again');
    const isMoved =
      earlier.address !== address || (await tookOverFrom(redis, earlier.redisProcessId).catch(() => false));
    log.info(where(), isMoved ? 'followed the new master' : 'Redis was started again');
  }

  return { where, failure, closedShards, acknowledgement, accepted };
}
