import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connectRedis, redisReady } from '../../redis/client.ts';
import { endpointsOf, isOfCluster } from '../../redis/endpoints.ts';
import { fieldsOf } from '../../redis-fields.ts';
import type { Log } from '../../log/log.ts';

/** How long a server may take to connect, and to answer. */
const PATIENCE_MS = 2_000;

/** A setting of Redis that Laurel counts on, and what another value costs. */
interface Advice {
  setting: string;
  wanted: string;
  cost: string;
  /** Of other servers it does not matter. */
  of?: 'replicated' | 'cluster';
}

/** The others of ops/redis.conf cost little, or are refused (`refuseRedis`). */
const ADVICE: readonly Advice[] = [
  {
    setting: 'appendonly',
    wanted: 'yes',
    cost: 'what was acknowledged and is not in Postgres yet is lost when Redis ends',
  },
  {
    setting: 'appendfsync',
    wanted: 'always',
    cost: 'what was acknowledged in the last second or more is lost when the machine of Redis fails',
  },
  {
    setting: 'repl-diskless-sync-delay',
    wanted: '0',
    cost: 'after a takeover writes are answered 503 for as many seconds longer',
    of: 'replicated',
  },
  {
    setting: 'cluster-require-full-coverage',
    wanted: 'no',
    cost: 'while one master is away, those of the others refuse requests of all tenants',
    of: 'cluster',
  },
];

/**
 * Logs a warning for each Redis that has other settings than Laurel counts on (ops/redis.conf). Of one that does not answer, or does
 * not allow CONFIG GET, as managed services do, nothing is said. Never rejects.
 */
export async function warnOfRedisSettings({ redisUrl, log }: { redisUrl: string; log: Log }): Promise<void> {
  const redis = await connectRedis(redisUrl, PATIENCE_MS).catch(() => null);
  if (redis === null) return;
  redis.on('error', () => undefined);
  try {
    await Promise.all(endpointsOf(redis).map((server) => warnOf(server, log)));
  } finally {
    redis.disconnect();
  }
}

async function warnOf({ name, redis }: { name: string; redis: Redis }, log: Log): Promise<void> {
  redis.on('error', () => undefined);
  const late = sleep(PATIENCE_MS, null, { ref: false });
  const found = await Promise.race([readSettings(redis).catch(() => null), late]);
  if (found === null) return;
  const wrong = ADVICE.filter(
    ({ setting, wanted, of }) =>
      (of === undefined || found.is[of]) && (found.settings.get(setting) ?? wanted) !== wanted,
  );
  if (wrong.length === 0) return;
  const texts = wrong.map(
    ({ setting, wanted, cost }) => `${setting} is "${found.settings.get(setting)}", not "${wanted}": ${cost}`,
  );
  log.warn({ redis: name }, `Redis has other settings than ops/redis.conf: ${texts.join('; ')}`);
}

/** Rejects where it does not answer in time, or may not be asked. */
async function readSettings(
  redis: Redis,
): Promise<{ settings: Map<string, string>; is: Record<'replicated' | 'cluster', boolean> }> {
  await redisReady(redis, PATIENCE_MS);
  const [settings, role] = await Promise.all([
    redis.call('CONFIG', 'GET', ...ADVICE.map(({ setting }) => setting)),
    redis.call('ROLE'),
  ]);
  const [, , replicas] = role as [string, number, unknown[]];
  const isReplicated = (redis.options.sentinels ?? null) !== null || replicas.length > 0;
  return { settings: fieldsOf(settings), is: { replicated: isReplicated, cluster: isOfCluster(redis) } };
}
