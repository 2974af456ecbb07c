import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readEnv } from '../env.ts';
import { startServers } from '../local/private-services.ts';
import { isMigrated } from '../postgres/migrate.ts';
import { createPool } from '../postgres/pool.ts';
import { connectRedis, redisReady } from '../redis/client.ts';
import { byServer, onServer } from '../redis/endpoints.ts';
import { SHARD_NUMBERS } from '../redis/keys.ts';
import { StartError } from '../start-error.ts';
import { CommandError } from './command-error.ts';

/**
 * Runs a command on Redis and Postgres: those of REDIS_URL and DATABASE_URL, or the private ones, which no running Laurel
 * may have then. `shards`: not before each Redis answers that holds one of them; the command looks after the others itself.
 */
export async function withServers<T>(
  work: (servers: { redis: Redis; pool: Pool }) => Promise<T>,
  { shards = SHARD_NUMBERS }: { shards?: readonly number[] } = {},
): Promise<T> {
  const servers = await startServers(readEnv(process.env), (line) => process.stderr.write(`${line}\n`));
  const pool = createPool(servers.databaseUrl, { max: 5 });
  let redis: Redis | null = null;
  try {
    const migrated = await isMigrated(pool).catch((error: Error) => {
      throw new CommandError(`Postgres cannot be asked (${error.message}). DATABASE_URL says where it is.`);
    });
    if (!migrated) throw new CommandError('The database is not of this version: start Laurel first.');
    const away = (error: Error): never => {
      throw error instanceof StartError ? error : new CommandError(`${error.message} REDIS_URL says where it is.`);
    };
    const connected: Redis = (redis = await connectRedis(servers.redisUrl).catch(away));
    connected.on('error', () => undefined);
    onServer(connected, (server) => void server.redis.on('error', () => undefined));
    for (const server of byServer(connected, shards)) await redisReady(server.redis).catch(away);
    return await work({ redis: connected, pool });
  } finally {
    redis?.disconnect();
    await pool.end();
    await servers.stop();
  }
}
