import { byServer } from '../../redis/endpoints.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { rebuildAnyway, refuse } from './accept.ts';
import { inspect } from './inspect.ts';

/**
 * Rebuilds some shards, or all, of all servers that a connection leads to, by hand and one server after another: the tenants of the
 * others are served meanwhile. Throws as `rebuildAnyway`: before anything is done where one of the servers must not be touched.
 */
export async function rebuildServers({
  redis,
  shards = SHARD_NUMBERS,
  ...options
}: Omit<Parameters<typeof rebuildAnyway>[0], 'name'>): Promise<void> {
  const servers = byServer(redis, shards);
  for (const server of servers) refuse(await inspect(server.redis, options.pool, server.shards), options.acceptLoss);
  for (const server of servers) await rebuildAnyway({ ...options, ...server });
}
