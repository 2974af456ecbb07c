import { machineCpu, processCpu, redisUse, treeCpu } from './cpu.ts';
import type { DirectJob, LoadJob, Outcome } from './jobs.ts';
import type { Shape } from './shape.ts';
import type { Stack } from './stack.ts';

/** What is measured in turn, in every round. */
export const CASES = [
  'bare',
  'event',
  'direct',
  'direct single',
  'event unpersisted',
  'hot user',
  'half load',
] as const;
export type Case = (typeof CASES)[number];

/** One case in one round. CPU in µs an event (or request). */
export interface Measurement extends Outcome {
  case: Case;
  round: number;
  perSecond: number;
  /** Of the machine's CPU time: the shares that other machines and other programs took, and what was left over. */
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
}

export interface MeasureOptions {
  stack: Stack;
  shape: Shape;
  users: number;
  connections: number;
}

/** How a case is run: events in all, events a direct call, and requests a second for `half load`. */
export interface Size {
  amount: number;
  batch: number;
  rate: number;
}

let seed = 0;

/** The job of a case; every job has events and idempotency keys of its own. */
function jobOf(
  name: Case,
  { stack, shape, users, connections }: MeasureOptions,
  { amount, batch, rate }: Size,
): LoadJob | DirectJob {
  const crowd = name === 'hot user' ? { hotUser: 'hot' } : { users };
  seed += 1;
  if (name === 'direct' || name === 'direct single') {
    // As the frontend does it: two calls on the way, the events between them in the next.
    const how = name === 'direct' ? { batch, atOnce: 2 } : { batch: 1, atOnce: connections };
    const { redisUrl, databaseUrl } = stack;
    return { kind: 'direct', redisUrl, databaseUrl, ...how, amount, crowd, seed, everyUser: false };
  }
  const url = name === 'bare' ? stack.bareUrl : stack.url;
  return {
    kind: 'load',
    url,
    apiKey: stack.apiKey,
    connections,
    amount,
    rate: name === 'half load' ? rate : null,
    shape,
    crowd,
    seed,
  };
}

/** Runs one case and waits until Postgres holds what it wrote, so that nothing of it weighs on the next. */
export async function measure(name: Case, round: number, options: MeasureOptions, size: Size): Promise<Measurement> {
  const { stack } = options;
  const job = jobOf(name, options, size);
  const node = name === 'bare' ? stack.pids.bare : job.kind === 'direct' ? stack.pids.direct : stack.pids.frontend;
  if (name === 'event unpersisted') stack.persist(false);
  const before = await use(stack, node);
  const outcome = (await (job.kind === 'direct' ? stack.direct(job) : stack.load(job))) as Outcome;
  const after = await use(stack, node);
  if (name === 'event unpersisted') stack.persist(true);
  const answeredMs = performance.now();
  await stack.drained();
  const persistCpu = treeCpu(stack.pids.postgres) + processCpu(stack.pids.worker) - before.persist;
  const machine = after.machine.all - before.machine.all;
  const calls = after.redis.scriptCalls - before.redis.scriptCalls;
  const micros = (seconds: number): number => (seconds * 1e6) / outcome.answered;
  return {
    case: name,
    round,
    ...outcome,
    perSecond: outcome.answered / outcome.seconds,
    steal: (after.machine.stolen - before.machine.stolen) / machine,
    others: Math.max(0, after.machine.inProcesses - before.machine.inProcesses - (after.own - before.own)) / machine,
    idle: (after.machine.idle - before.machine.idle) / machine,
    nodeMicros: micros(outcome.cpuSeconds ?? after.node - before.node),
    redisMicros: micros(after.redis.cpu - before.redis.cpu),
    persistMicros: micros(persistCpu),
    eventsPerCall: calls === 0 || name === 'bare' ? 0 : outcome.answered / calls,
    drainSeconds: (performance.now() - answeredMs) / 1000,
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
