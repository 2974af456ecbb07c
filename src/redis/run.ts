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
  if (fieldOf(info, 'role') !== 'master') throw new RedisIsReplica();
  return `${fieldOf(info, 'run_id')}.${fieldOf(info, 'master_replid')}`;
}

/** Whether the Redis is a replica that became the master in the place of this run. Errors of Redis. */
export async function succeeds(redis: Redis, run: string): Promise<boolean> {
  const info = await redis.info('replication');
  return fieldOf(info, 'master_replid2') === run.split('.')[1];
}

/** A field of an answer to INFO, which begins with a title; '': there is none. No expression, which would be compiled at every look. */
function fieldOf(info: string, name: string): string {
  const before = `\n${name}:`;
  const at = info.indexOf(before);
  if (at < 0) return '';
  const from = at + before.length;
  const end = info.indexOf('\r', from);
  return info.slice(from, end < 0 ? undefined : end);
}

/** Of a run the ID of the process, which a function finds out by itself. */
export const serverOf = (run: string): string => run.split('.')[0]!;

/** The run in a fence `<epoch>/<run>`, see `fenceOf`; '': none, a rebuild is under way or never was. */
export const runOfFence = (fence: string): string => fence.split('/')[1] ?? '';

/** Whether a fence is of a run, as `runOfFence` says; makes nothing, for who asks about every shard again and again. */
export const isFenceOf = (fence: string, run: string): boolean =>
  fence.endsWith(run) && fence.at(-run.length - 1) === '/';
