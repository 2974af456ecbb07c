import { Redis } from 'ioredis';
import { addressOptions } from '../redis-address.ts';
import { parseRedisEntries } from '../redis-entries.ts';
import { fieldsOf } from '../redis-fields.ts';
import type { Log } from '../log/log.ts';

/** How long a server may take to connect, and to answer. */
const PATIENCE_MS = 2_000;

/** A setting of Redis that Laurel counts on, and what another value costs. */
interface Advice {
  setting: string;
  wanted: string;
  cost: string;
  /** Of a master without replicas it does not matter. */
  ofReplicas?: true;
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
    ofReplicas: true,
  },
];

/**
 * Logs a warning for each Redis that has other settings than Laurel counts on (ops/redis.conf). Of one that does not answer, or does
 * not allow CONFIG GET, as managed services do, nothing is said. Never rejects.
 */
export async function warnOfRedisSettings({ redisUrl, log }: { redisUrl: string; log: Log }): Promise<void> {
  const entries = parseRedisEntries(redisUrl);
  if (typeof entries === 'string') return;
  await Promise.all(
    entries.map(async ({ name, url }) => {
      const found = await readSettings(url).catch(() => null);
      if (found === null) return;
      const wrong = ADVICE.filter(
        ({ setting, wanted, ofReplicas }) =>
          (found.isReplicated || ofReplicas === undefined) && (found.settings.get(setting) ?? wanted) !== wanted,
      );
      if (wrong.length === 0) return;
      const texts = wrong.map(
        ({ setting, wanted, cost }) => `${setting} is "${found.settings.get(setting)}", not "${wanted}": ${cost}`,
      );
      log.warn({ redis: name }, `Redis has other settings than ops/redis.conf: ${texts.join('; ')}`);
    }),
  );
}

/** Rejects where it does not answer in time, or may not be asked. */
async function readSettings(url: string): Promise<{ settings: Map<string, string>; isReplicated: boolean }> {
  const options = addressOptions(url);
  const redis = new Redis({
    ...options,
    lazyConnect: true,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const [settings, role] = await Promise.all([
      redis.call('CONFIG', 'GET', ...ADVICE.map(({ setting }) => setting)),
      redis.call('ROLE'),
    ]);
    const [, , replicas] = role as [string, number, unknown[]];
    return { settings: fieldsOf(settings), isReplicated: options.sentinels !== undefined || replicas.length > 0 };
  } finally {
    redis.disconnect();
  }
}
