import type { Case, CaseOptions, Size } from './cases.ts';
import { machineCpu, processCpu, redisUse, treeCpu } from './cpu.ts';
import type { Outcome } from './jobs.ts';
import type { Stack } from './stack.ts';

/** One case in one round. CPU in µs per event, or per request without events. */
export interface Measurement extends Outcome {
  case: string;
  round: number;
  /** Events or requests per second. */
  perSecond: number;
  /** Of the machine's CPU time: the shares of other machines, of other programs, and idle. */
  steal: number;
  others: number;
  idle: number;
  /** The process that answers HTTP; for direct calls the one that makes them. */
  nodeMicros: number;
  redisMicros: number;
  /** Worker and Postgres, until everything is stored. */
  persistMicros: number;
  eventsPerCall: number;
  /** Seconds after the last answer until everything was stored. */
  drainSeconds: number;
  /** Work of the worker during the load: settled users, seconds, and the share of the load that it covered. */
  beside?: { users: number; seconds: number; share: number };
}

let seed = 0;

/**
 * Runs one case and waits until Postgres has its writes, so that they do not slow down the next. Every run has its own
 * events and idempotency keys.
 */
export async function measure(one: Case, round: number, options: CaseOptions, size: Size): Promise<Measurement> {
  const { stack } = options;
  seed += 1;
  const job = one.job(options, size, seed);
  const pid = stack.pids[one.node];
  if (one.unpersisted) stack.persist(false);
  if (one.webhooks !== undefined) await stack.webhooks.listen(one.webhooks);
  const beside = await one.beside?.(stack, size.amount / size.rate);
  const before = await use(stack, pid);
  const outcome = job.kind === 'direct' ? await stack.direct(job) : await stack.load(job);
  const after = await use(stack, pid);
  if (one.unpersisted) stack.persist(true);
  const answeredMs = performance.now();
  const did = await beside?.done;
  await stack.drained();
  if (one.webhooks !== undefined) await stack.webhooks.delivered();
  const persistCpu = treeCpu(stack.pids.postgres) + processCpu(stack.pids.worker) - before.persist;
  if (one.webhooks !== undefined) await stack.webhooks.listen(0);
  const machine = after.machine.all - before.machine.all;
  const calls = after.redis.scriptCalls - before.redis.scriptCalls;
  const done = Math.max(outcome.processed, outcome.answered);
  const micros = (seconds: number): number => (seconds * 1e6) / done;
  return {
    case: one.name,
    round,
    ...outcome,
    perSecond: done / outcome.seconds,
    steal: (after.machine.stolen - before.machine.stolen) / machine,
    others: Math.max(0, after.machine.inProcesses - before.machine.inProcesses - (after.own - before.own)) / machine,
    idle: (after.machine.idle - before.machine.idle) / machine,
    nodeMicros: micros(outcome.cpuSeconds ?? after.node - before.node),
    redisMicros: micros(after.redis.cpu - before.redis.cpu),
    persistMicros: micros(persistCpu),
    eventsPerCall: calls === 0 || outcome.processed === 0 ? 0 : outcome.processed / calls,
    drainSeconds: (performance.now() - answeredMs) / 1000,
    ...(did !== undefined && {
      beside: {
        users: did.users,
        seconds: did.seconds,
        share: Math.min(1, Math.max(0, 1 - (answeredMs - did.endedMs) / (outcome.seconds * 1000))),
      },
    }),
  };
}

async function use(stack: Stack, node: number) {
  const persist = treeCpu(stack.pids.postgres) + processCpu(stack.pids.worker);
  return {
    redis: await redisUse(stack.redis),
    node: processCpu(node),
    persist,
    machine: machineCpu(),
    own: treeCpu(process.pid),
  };
}
