import { setTimeout as sleep } from 'node:timers/promises';
import type { Cut, CuttingProxy } from '../stack/cutting-proxy.ts';
import { plantDamagedEntries } from './damaged-entries.ts';
import { signal } from './processes.ts';
import type { Random } from './random.ts';
import type { ChaosStack, Part } from './stack.ts';

/** A fault. Resolves when its target may work again; `false` if there was nothing to hit. */
export type Fault = (stack: ChaosStack, random: Random) => Promise<boolean>;

/** How long a server is away, or a process is stopped. */
const AWAY_MS = { min: 0, max: 2_500 };
/** How long to wait for a call that can be cut. */
const ARMED_MS = 3_000;

async function kill(stack: ChaosStack, part: Part, awayMs: number): Promise<boolean> {
  if (part === 'redis' || part === 'postgres') {
    // The server itself, whose own processes then end by themselves.
    signal(stack.pids(part).slice(0, 1), 'SIGKILL');
    await sleep(awayMs);
    await stack.startAgain(part);
    return true;
  }
  const pids = stack.pids(part).slice(0, 1);
  signal(pids, 'SIGKILL');
  return pids.length > 0;
}

async function stop(stack: ChaosStack, part: Part, stillMs: number): Promise<boolean> {
  const pids = part === 'frontend' ? stack.pids(part).slice(0, 1) : stack.pids(part);
  signal(pids, 'SIGSTOP');
  await sleep(stillMs);
  signal(pids, 'SIGCONT');
  return pids.length > 0;
}

/** Cuts one call whose request contains the text, and runs `meanwhile` before the connection closes. */
async function cut(
  proxy: CuttingProxy,
  { what, text, meanwhile = async () => undefined }: { what: Cut; text: string; meanwhile?: () => Promise<unknown> },
): Promise<boolean> {
  const happened = new Promise<boolean>((resolve, reject) => {
    const late = setTimeout(() => {
      if (proxy.disarm()) resolve(false);
    }, ARMED_MS);
    const begun = async (): Promise<void> => {
      clearTimeout(late);
      await meanwhile().then(() => resolve(true), reject);
    };
    proxy.cutNext(what, begun, (chunk) => chunk.includes(text));
  });
  return happened;
}

const SCRIPT = 'FCALL';
const COMMIT = 'COMMIT';
const away = (random: Random): number => random.whole(AWAY_MS.min, AWAY_MS.max);

/** By name; a round draws one of them. */
export const FAULTS: Record<string, Fault> = {
  ...Object.fromEntries(
    (['frontend', 'worker', 'redis', 'postgres'] as const).flatMap((part): [string, Fault][] => [
      [`kill ${part}`, (stack, random) => kill(stack, part, away(random))],
      [`stop ${part}`, (stack, random) => stop(stack, part, 200 + away(random))],
    ]),
  ),
  'cut every Redis connection': async ({ redisProxy }) => (redisProxy.cutAll(), true),
  'cut every Postgres connection': async ({ postgresProxy }) => (postgresProxy.cutAll(), true),
  'cut before the script': ({ redisProxy }) => cut(redisProxy, { what: 'requests', text: SCRIPT }),
  'cut between script and reply': ({ redisProxy }) => cut(redisProxy, { what: 'replies', text: SCRIPT }),
  'kill a frontend between script and reply': (stack) =>
    cut(stack.redisProxy, { what: 'replies', text: SCRIPT, meanwhile: () => kill(stack, 'frontend', 0) }),
  'kill Redis between script and reply': (stack, random) =>
    cut(stack.redisProxy, { what: 'replies', text: SCRIPT, meanwhile: () => kill(stack, 'redis', away(random)) }),
  'cut before COMMIT': ({ postgresProxy }) => cut(postgresProxy, { what: 'requests', text: COMMIT }),
  'cut between COMMIT and trim': ({ postgresProxy }) => cut(postgresProxy, { what: 'replies', text: COMMIT }),
  'kill the worker between COMMIT and trim': (stack) =>
    cut(stack.postgresProxy, { what: 'replies', text: COMMIT, meanwhile: () => kill(stack, 'worker', 0) }),
  'kill Redis between COMMIT and trim': (stack, random) =>
    cut(stack.postgresProxy, { what: 'replies', text: COMMIT, meanwhile: () => kill(stack, 'redis', away(random)) }),
  'kill Postgres between COMMIT and trim': (stack, random) =>
    cut(stack.postgresProxy, { what: 'replies', text: COMMIT, meanwhile: () => kill(stack, 'postgres', away(random)) }),
  'kill Redis and Postgres': async (stack, random) => {
    await Promise.all([kill(stack, 'redis', away(random)), kill(stack, 'postgres', away(random))]);
    return true;
  },
  'damaged entries': async (stack) => (await plantDamagedEntries(stack), true),
  'add damaged entries, and kill the worker while it handles them': async (stack) => {
    await plantDamagedEntries(stack);
    return kill(stack, 'worker', 0);
  },
  'damaged entries, and cut between COMMIT and trim': async (stack) => {
    const happened = cut(stack.postgresProxy, { what: 'replies', text: COMMIT });
    await plantDamagedEntries(stack);
    return happened;
  },
  'damaged entries, and kill Redis and Postgres': async (stack, random) => {
    await plantDamagedEntries(stack);
    await Promise.all([kill(stack, 'redis', away(random)), kill(stack, 'postgres', away(random))]);
    return true;
  },
  'stop Redis and cut its connections meanwhile': async (stack, random) => {
    const pids = stack.pids('redis');
    signal(pids, 'SIGSTOP');
    await sleep(300 + random.whole(0, 300));
    stack.redisProxy.cutAll();
    await sleep(random.whole(100, 1_500));
    signal(pids, 'SIGCONT');
    return true;
  },
};
