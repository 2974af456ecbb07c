import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { compileCatalog, type CompiledCatalog } from '../src/catalog/compiled-catalog.ts';
import { systemClock } from '../src/clock.ts';
import { type Calls, COMMIT_SCRIPT, READ_SCRIPT } from '../src/engine/changes/change-users.ts';
import { RecentStates } from '../src/engine/changes/recent-states.ts';
import { createReachedClock, recordEvents } from '../src/engine/changes/record-events.ts';
import type { ReadyEvent } from '../src/engine/events/ready-event.ts';
import { createEventEngine, type OccurredEvents } from '../src/engine/events/event-engine.ts';
import { KeyedIds } from '../src/engine/ids.ts';
import type { EventBatcher } from '../src/engine/events/event-batcher.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { createPool } from '../src/postgres/pool.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { beliefOf, type Belief } from '../src/redis/gate.ts';
import { JoinedCalls } from '../src/redis/script.ts';
import { markKey } from '../src/redis/keys.ts';
import { readRedisProcessId } from '../src/redis/server-info.ts';
import type { ScriptReply } from '../src/packed/record.ts';
import type { Script, Words } from '../src/redis/script.ts';
import { KIND, kindField } from '../src/packed/record-fields.ts';
import { WakeUp } from '../src/redis/wake-up.ts';
import { outcomeOf, type DirectJob, type Outcome } from './jobs.ts';
import { EventMaker, KEYED } from '../src/cli/load/events.ts';
import { benchShape } from './load.ts';
import { onlyPart } from '../test/stack/only-part.ts';

const TENANT = 0;

/** Those of all jobs, as in a frontend. */
const recent = new RecentStates();

/**
 * A separate process that calls the script without HTTP: receives a `DirectJob` from its parent, answers with the `Outcome`.
 * It checks and prepares the events before the first call; only the call is timed.
 */
process.on('message', (job: DirectJob) => {
  void callScript(job).then((outcome) => process.send?.(outcome));
});
process.once('disconnect', () => process.exit(0));

async function callScript(job: DirectJob): Promise<Outcome> {
  const pool = createPool(job.databaseUrl, { max: 1 });
  const catalog = await loadCatalog(pool, TENANT);
  await pool.end();
  if (catalog === null) throw new Error('There is no catalog.');
  const { count, joined } = job.tenants ?? { count: 1, joined: false };
  const compiled = Array.from({ length: count }, (_, tenantNo) => compileCatalog({ ...catalog, tenantNo }));
  const calls = await readyCalls(job, compiled);

  const redis = createRedis(job.redisUrl);
  await redisReady(redis);
  const wakeUp = new WakeUp(redis);
  const reached = createReachedClock();
  const beliefs = job.tenants === undefined ? null : await marked(redis, count);
  const latencies = new Float64Array(calls.length);
  const replies: ScriptReply[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < calls.length) {
      const no = next++;
      const startMs = performance.now();
      const reads = joined ? new JoinedCalls(READ_SCRIPT, redis) : undefined;
      const commits = joined ? new JoinedCalls(COMMIT_SCRIPT, redis) : undefined;
      const parts = calls[no]!.map(async (events) => {
        const { tenantNo } = events[0]!.compiled.catalog;
        const part = onlyPart(tenantNo);
        const sent = {
          ...callsWith(redis, beliefs?.[tenantNo], { reads, commits }),
          ...(job.recalls === true && { recent }),
        };
        const call = { nowMs: Date.now(), keysPerDay: 1_000_000, reached };
        replies.push(...(await recordEvents(sent, part, events, call)).replies);
        wakeUp.touched(part.shard);
      });
      await reads?.send();
      if (joined) await new Promise((resolve) => setImmediate(resolve));
      await commits?.send();
      await Promise.all(parts);
      latencies[no] = performance.now() - startMs;
    }
  };
  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  await Promise.all(Array.from({ length: job.atOnce }, caller));
  const seconds = (performance.now() - startMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  await wakeUp.close();
  redis.disconnect();
  const statuses: Record<string, number> = {};
  for (const reply of replies) {
    const kind = reply[kindField];
    const status = kind === KIND.event ? '201' : kind;
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return {
    ...outcomeOf({ seconds, statuses, processed: statuses['201'] ?? 0, latencies }),
    answered: replies.length,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
  };
}

/** Calls without retries. `belief`: the expected mark, if it is checked. */
function callsWith(
  redis: Redis,
  belief: Belief | undefined,
  { reads, commits }: { reads: JoinedCalls | undefined; commits: JoinedCalls | undefined },
): Calls {
  const send = async (script: Script, { keys, args }: { keys: string[]; args: Words }, joined?: JoinedCalls) => {
    const reply = (await (belief === undefined
      ? script.run(redis, keys, args)
      : script.runBelieving(redis, belief, { keys, args, joined }))) as Buffer[];
    reply.pop();
    return reply;
  };
  return {
    read: (call) => send(READ_SCRIPT, call, reads),
    commit: (call) => send(COMMIT_SCRIPT, call(''), commits),
  };
}

/** Marks the shards of the tenants; returns each tenant's expected mark. */
async function marked(redis: Redis, tenants: number): Promise<Belief[]> {
  const run = await readRedisProcessId(redis);
  const keys = Array.from({ length: tenants }, (_, tenantNo) => markKey(onlyPart(tenantNo).shard));
  await redis.mset(Object.fromEntries(keys.map((key) => [key, 'bench:1'])));
  return keys.map((key) => beliefOf(key, 'bench:1', run));
}

/** The events of each call, by tenant; `compiled`: one catalog per tenant. */
async function readyCalls(
  { amount, batch, crowd, seed, everyUser }: DirectJob,
  compiled: readonly CompiledCatalog[],
): Promise<ReadyEvent[][][]> {
  const own = compiled[TENANT]!;
  const maker = new EventMaker({ shape: await benchShape(own.catalog), crowd, seed, keyed: KEYED });
  // Only its checks are used.
  const engine = createEventEngine({
    catalogs: { get: () => own, load: async () => own },
    batcher: null as unknown as EventBatcher,
    ids: new KeyedIds(randomBytes(32)),
    clock: systemClock,
    overloaded: () => false,
    late: null as unknown as OccurredEvents,
  });
  const calls: ReadyEvent[][][] = [];
  for (let at = 0; at < amount; at += batch) {
    const parts: ReadyEvent[][] = compiled.map(() => []);
    for (let no = at; no < Math.min(at + batch, amount); no += 1) {
      const tenantNo = no % compiled.length;
      const { metricKey, event, idempotencyKey } = maker.next(
        everyUser ? { userNo: Math.floor(no / compiled.length) } : {},
      );
      parts[tenantNo]!.push(engine.prepare(compiled[tenantNo]!, metricKey, { event, idempotencyKey }));
    }
    calls.push(parts.filter((events) => events.length > 0));
  }
  return calls;
}
