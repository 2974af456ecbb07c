import { randomBytes } from 'node:crypto';
import { compileCatalog, type CompiledCatalog } from '../src/catalog/compiled-catalog.ts';
import { systemClock } from '../src/clock.ts';
import { eventCall, type ReadyEvent } from '../src/engine/events/event-call.ts';

import { EventEngine, type OccurredEvents } from '../src/engine/events/event-engine.ts';
import { KeyedIds } from '../src/engine/ids/keyed-ids.ts';
import type { EventBatcher } from '../src/engine/events/event-batcher.ts';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { createPool } from '../src/postgres/pool.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { shardOf } from '../src/redis/keys.ts';
import type { ScriptReply } from '../src/packed/record.ts';
import { Script } from '../src/redis/script.ts';
import { unpack } from '../src/packed/state.ts';
import { KIND, kindField } from '../src/packed/record-fields.ts';
import { WakeUp } from '../src/redis/wake-up.ts';
import { outcomeOf, type DirectJob, type Outcome } from './jobs.ts';
import { EventMaker, KEYED, shapeOf } from './shape.ts';

const TENANT = 0;

/**
 * A process of its own that calls the script without HTTP: takes a `DirectJob` from its parent, answers with the
 * `Outcome`. Events are checked and made ready before the first call; what is timed is the call alone.
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
  const calls = readyCalls(job, compileCatalog(catalog));

  const redis = createRedis(job.redisUrl);
  await redisReady(redis);
  const wakeUp = new WakeUp(redis);
  const script = new Script('record_events');
  const latencies = new Float64Array(calls.length);
  const replies: Buffer[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < calls.length) {
      const no = next++;
      const startMs = performance.now();
      const { keys, args } = eventCall(TENANT, calls[no]!, { nowMs: Date.now(), retryPosition: '' });
      const reply = (await script.run(redis, keys, args)) as Buffer[];
      latencies[no] = performance.now() - startMs;
      wakeUp.touched(shardOf(TENANT));
      for (let at = 0; at < reply.length - 1; at++) replies.push(reply[at]!);
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
    const kind = (unpack(reply) as ScriptReply)[kindField];
    const status = kind === KIND.event ? '201' : kind;
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return {
    ...outcomeOf({ seconds, statuses, processed: statuses['201'] ?? 0, latencies }),
    answered: replies.length,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
  };
}

function readyCalls({ amount, batch, crowd, seed, everyUser }: DirectJob, compiled: CompiledCatalog): ReadyEvent[][] {
  const maker = new EventMaker({ shape: shapeOf(compiled.catalog), crowd, seed, keyed: KEYED });
  // Only its checks are used.
  const engine = new EventEngine({
    catalogs: { get: () => compiled, load: async () => compiled },
    batcher: null as unknown as EventBatcher,
    ids: new KeyedIds(randomBytes(32)),
    clock: systemClock,
    overloaded: () => false,
    late: null as unknown as OccurredEvents,
  });
  const calls: ReadyEvent[][] = [];
  for (let at = 0; at < amount; at += batch) {
    calls.push(
      Array.from({ length: Math.min(batch, amount - at) }, (_, offset) => {
        const { metricKey, event, idempotencyKey } = maker.next(everyUser ? at + offset : undefined);
        return engine.prepare(compiled, metricKey, { event, idempotencyKey });
      }),
    );
  }
  return calls;
}
