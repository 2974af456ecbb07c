import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { connectRedis } from '../engine/shards/connect-redis.ts';
import { readEnv } from '../env.ts';
import { startServers } from '../local/private-services.ts';
import { countLetters } from '../postgres/dead-letters/letters.ts';
import { isMigrated } from '../postgres/migrate.ts';
import { createPool } from '../postgres/pool.ts';
import { redisReady } from '../redis/client.ts';
import { byServer, endpointsOf } from '../redis/endpoints.ts';
import { SHARD_NUMBERS } from '../redis/keys.ts';
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
    redis = await connectRedis(servers.redisUrl, pool);
    for (const server of new Set([redis, ...endpointsOf(redis).map((endpoint) => endpoint.redis)]))
      server.on('error', () => undefined);
    for (const server of byServer(redis, shards)) {
      await redisReady(server.redis).catch((error: Error) => {
        throw new CommandError(`${error.message} REDIS_URL says where it is.`);
      });
    }
    return await work({ redis, pool });
  } finally {
    redis?.disconnect();
    await pool.end();
    await servers.stop();
  }
}

/** Says how many entries wait that could not be stored: Postgres, and what is made from it, lacks what they hold. */
export async function nameSetAside(pool: Pool): Promise<void> {
  const { waiting } = await countLetters(pool);
  if (waiting === 0) return;
  process.stdout.write(
    `${waiting === 1 ? 'One entry that could not be stored waits' : `${waiting} entries that could not be stored wait`}; ` +
      'Postgres lacks what they hold: `laurel dead-letters list`.\n',
  );
}

/** Names a user whose state cannot be read. */
export const nameUnreadable = ({ tenantNo, id }: { tenantNo: number; id: string }): void =>
  void process.stdout.write(`\nThe state of the user ${id} of tenant ${tenantNo} cannot be read.\n`);
