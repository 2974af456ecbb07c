import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findRedisProgram } from '../../../src/local/redis-server.ts';
import { addressOptions } from '../../../src/settings/redis-address.ts';

/** How long to wait for a connection and an answer before the next try. */
const TRY_MS = 2_000;
const LOOK_MS = 10;

/**
 * Starts a Redis or a Sentinel, and resolves with it when it answers at its address; `null` if it ended before, such as when
 * its port is taken. Does not mistake another server at the address for it.
 */
export async function startOwnServer(
  args: readonly string[],
  url: string,
  program = findRedisProgram()!,
): Promise<ChildProcess | null> {
  const running = spawn(program, args, { stdio: 'ignore' });
  let hasEnded = false;
  running.once('exit', () => (hasEnded = true));
  while (!hasEnded) {
    if ((await processAt(url)) === running.pid) return running;
    await sleep(LOOK_MS);
  }
  return null;
}

/** The process that answers at an address; `null` if there is none. */
async function processAt(url: string): Promise<number | null> {
  const redis = new Redis({
    ...addressOptions(url),
    lazyConnect: true,
    connectTimeout: TRY_MS,
    commandTimeout: TRY_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return Number(/^process_id:(\d+)/m.exec(String(await redis.call('INFO', 'server')))?.[1]);
  } catch {
    return null;
  } finally {
    redis.disconnect();
  }
}
