import { acceptedShards, inspect } from '../../engine/rebuild/inspect.ts';
import { endpointsOf } from '../../redis/endpoints.ts';
import { SHARDS } from '../../redis/keys.ts';
import { withServers } from '../servers.ts';

/** Prints each Redis with its shards; of those that are shut, that they are. Changes nothing. */
export const runShardList = (): Promise<void> =>
  withServers(async ({ redis, pool }) => {
    for (const { name, redis: server, shards } of endpointsOf(redis)) {
      const whole = acceptedShards(await inspect(server, pool, shards));
      const listed = shards.map((shard) => `${shard}${whole.has(shard) ? '' : ' (shut)'}`);
      const { host, port } = server.options;
      process.stdout.write(`${name || `${host}:${port}`}: ${listed.join(', ') || 'none'}\n`);
    }
    process.stdout.write(`A tenant is on the shard that its number leaves when it is divided by ${SHARDS}.\n`);
  });
