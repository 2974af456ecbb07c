import type { Redis } from 'ioredis';
import type { RedisState } from '../domain/system.ts';

/** Which server it is, and what memory it takes. */
export async function redisState(redis: Redis): Promise<RedisState> {
  const [server, memory] = await Promise.all([redis.info('server'), redis.info('memory')]);
  const field = (info: string, name: string): string | undefined =>
    new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const name = field(server, 'server_name') ?? 'redis';
  const most = Number(field(memory, 'maxmemory') ?? 0);
  return {
    server: name,
    version: field(server, `${name}_version`) ?? field(server, 'redis_version') ?? '',
    memoryBytes: Number(field(memory, 'used_memory')),
    maxMemoryBytes: most === 0 ? null : most,
  };
}
