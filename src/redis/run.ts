import type { Redis } from 'ioredis';

/** The Redis is a replica: it takes no writes, and what it holds may be older than what its master does. */
export class RedisIsReplica extends Error {
  constructor() {
    super('The Redis at REDIS_URL is a replica: its master is elsewhere.');
    this.name = 'RedisIsReplica';
  }
}

/**
 * Whose writes the Redis holds: the ID of the run of its process, another one after every start, and that of its history of
 * writes, another one whenever it became a master. By the second a Redis that was a replica meanwhile, and may have been
 * given what another master held, differs from one whose connection only broke. Throws RedisIsReplica.
 */
export async function readRun(redis: Redis): Promise<string> {
  const info = (await redis.call('INFO', 'SERVER', 'REPLICATION')) as string;
  const field = (name: string): string => new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1] ?? '';
  if (field('role') !== 'master') throw new RedisIsReplica();
  return `${field('run_id')}.${field('master_replid')}`;
}

/** Of a run the ID of the process, which a function finds out by itself. */
export const serverOf = (run: string): string => run.split('.')[0]!;

/** The run in a fence `<epoch>/<run>`, see `fenceOf`; '': none, a rebuild is under way or never was. */
export const runOfFence = (fence: string): string => fence.split('/')[1] ?? '';
