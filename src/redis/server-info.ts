import type { Redis } from 'ioredis';
import type { RedisState } from '../domain/system.ts';

/** The Redis is a replica: it accepts no writes, and its data may be older than its master's. */
export class RedisIsReplica extends Error {
  constructor() {
    super('The Redis at REDIS_URL is a replica: its master is elsewhere.');
    this.name = 'RedisIsReplica';
  }
}

/**
 * Identifies a Redis process and its history of writes: `<run_id>.<master_replid>`. The first part changes with every start, the
 * second whenever a replica becomes a master. A Redis that was a replica meanwhile may hold another master's writes. Throws
 * RedisIsReplica.
 */
export async function readRedisProcessId(redis: Redis): Promise<string> {
  const info = (await redis.call('INFO', 'SERVER', 'REPLICATION')) as string;
  if (fieldOf(info, 'role') !== 'master') throw new RedisIsReplica();
  return `${fieldOf(info, 'run_id')}.${fieldOf(info, 'master_replid')}`;
}

/** Whether the Redis is a replica that took over from an earlier master. Throws errors of Redis. */
export async function tookOverFrom(redis: Redis, redisProcessId: string): Promise<boolean> {
  const info = await redis.info('replication');
  return fieldOf(info, 'master_replid2') === redisProcessId.split('.')[1];
}

/** The server's kind, version and memory. Throws errors of Redis. */
export async function redisState(redis: Redis): Promise<RedisState> {
  const info = (await redis.call('INFO', 'SERVER', 'MEMORY')) as string;
  const server = fieldOf(info, 'server_name') || 'redis';
  const maxMemoryBytes = Number(fieldOf(info, 'maxmemory'));
  return {
    server,
    version: fieldOf(info, `${server}_version`) || fieldOf(info, 'redis_version'),
    memoryBytes: Number(fieldOf(info, 'used_memory')),
    maxMemoryBytes: maxMemoryBytes === 0 ? null : maxMemoryBytes,
  };
}

/** A field of a reply to INFO, or `''`. Avoids a regular expression, which each call would compile. */
function fieldOf(info: string, name: string): string {
  const before = `\n${name}:`;
  const at = info.indexOf(before);
  if (at < 0) return '';
  const from = at + before.length;
  const end = info.indexOf('\r', from);
  return info.slice(from, end < 0 ? undefined : end);
}
