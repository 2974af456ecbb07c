/** Checks the versions, settings and permissions of Postgres and Redis before a start. */
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Log } from '../../telemetry/log.ts';
import { addressOptions, fieldsOf, parseRedisUrls } from '../../settings/redis-address.ts';
import { connectRedis, redisReady } from '../../redis/client.ts';
import { endpointsOf, isOfCluster } from '../../redis/endpoints.ts';
import { StartError } from '../../start-error.ts';
import { inTime } from '../../pacing/time-limit.ts';

const REDIS_AT_LEAST = [7, 0] as const;
const POSTGRES_AT_LEAST = 15;
/** How long to wait for a server that does not answer, since it may have been started at the same time. */
const WAIT_MS = 15_000;
/** The same for each master beside the first. */
const MASTER_MS = 2_000;

/**
 * Refuses servers on which Laurel cannot keep its guarantees: a Redis older than 7.0, a Redis that may evict keys, a
 * replica outside a cluster, a Postgres older than 15 or behind a transaction pooler, and a server that does not
 * answer. One node of a cluster has to answer. Either URL may be omitted. Throws a `StartError` with one sentence.
 */
export async function acceptServers(addresses: { redisUrl?: string; databaseUrl?: string }): Promise<void> {
  const { redisUrl, databaseUrl } = addresses;
  await Promise.all([
    redisUrl === undefined ? null : acceptRedis(redisUrl),
    databaseUrl === undefined ? null : acceptPostgres(databaseUrl),
  ]);
}

/** Accepts the first server that answers; if it is a node of a cluster, accepts all masters that answer. */
async function acceptRedis(redisUrl: string): Promise<void> {
  const addresses = parseRedisUrls(redisUrl);
  if (typeof addresses === 'string') throw new StartError(`REDIS_URL ${addresses}`);
  const urls = addresses.map(({ url }) => url);
  const infos = urls.map((url) => infoOf(url));
  const info = await Promise.any(infos).catch(() => infos[0]!);
  refuseRedis(info);
  if (urls.length === 1 && !/^cluster_enabled:1/m.test(info)) return;
  const redis = await connectRedis(redisUrl);
  redis.on('error', () => undefined);
  try {
    await Promise.all(
      endpointsOf(redis).map(async ({ redis: master }) => {
        master.on('error', () => undefined);
        const info = await redisReady(master, MASTER_MS).then(
          () => master.info(),
          () => null,
        );
        if (info !== null) refuseRedis(info);
      }),
    );
  } finally {
    redis.disconnect();
  }
}

function infoOf(url: string): Promise<string> {
  return untilAnswered('Redis', 'REDIS_URL', async () => {
    const redis = new Redis({
      ...addressOptions(url),
      lazyConnect: true,
      retryStrategy: () => null,
      sentinelRetryStrategy: () => null,
      maxRetriesPerRequest: 0,
    });
    let cause: unknown = null;
    redis.on('error', (error) => (cause ??= error));
    try {
      await redis.connect();
      return await redis.info();
    } catch (error) {
      // The client's own error says only that the connection is closed.
      throw cause ?? error;
    } finally {
      redis.disconnect();
    }
  });
}

/** Throws a `StartError` if the Redis with this INFO is unsuitable. */
export function refuseRedis(info: string): void {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const version = field('redis_version') ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [needMajor, needMinor] = REDIS_AT_LEAST;
  if (major < needMajor || (major === needMajor && minor < needMinor)) {
    throw new StartError(`Laurel needs Redis ${needMajor}.${needMinor} or newer; this one is ${version}.`);
  }
  // A cluster's node leads to its master itself.
  if (field('role') === 'slave' && field('cluster_enabled') !== '1') {
    throw new StartError(
      `The Redis at REDIS_URL is a replica (of ${field('master_host')}:${field('master_port')}), which takes no writes: ` +
        'name its master, or its Sentinels (redis+sentinel://host:port/name), which know it after a failover too.',
    );
  }
  const policy = field('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    throw new StartError(
      `Redis may throw data away when memory is full (maxmemory-policy is "${policy}"). Laurel keeps state there that ` +
        'must not vanish: set it to "noeviction" (CONFIG SET maxmemory-policy noeviction, and in its configuration file).',
    );
  }
}

async function acceptPostgres(url: string): Promise<void> {
  const { version, lends } = await untilAnswered('Postgres', 'DATABASE_URL', async () => {
    const [client, other] = [0, 1].map(() => {
      const one = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
      one.on('error', () => undefined);
      return one;
    }) as [pg.Client, pg.Client];
    try {
      await Promise.all([client.connect(), other.connect()]);
      const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
      return { version: Number(rows[0]?.server_version_num ?? 0), lends: await lendsSessions(client, other) };
    } finally {
      await Promise.all([client, other].map((one) => one.end().catch(() => undefined)));
    }
  });
  refusePostgres(version);
  if (lends) {
    throw new StartError(
      'Something between Laurel and Postgres (a pooler such as PgBouncer in transaction mode) lends a connection for one ' +
        'transaction only. Laurel holds locks and listens on connections of its own: name Postgres itself in DATABASE_URL, or a ' +
        'pool in session mode.',
    );
  }
}

/** Number of attempts: a pooler with several connections may lend the same one again by chance. */
const LENT = 3;

/** Whether a connection gets another server process, or serves another client, after its transaction. */
async function lendsSessions(client: pg.Client, other: pg.Client): Promise<boolean> {
  const process = async (of: pg.Client): Promise<number> =>
    (await of.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
  const first = await process(client);
  for (let tries = 0; tries < LENT; tries++) {
    // The open transaction keeps the pooler from lending this connection to another client.
    await other.query('BEGIN');
    const [taken, still] = [await process(other), await process(client)];
    await other.query('COMMIT');
    if (taken === first || still !== first) return true;
  }
  return false;
}

/** Throws a `StartError` if the Postgres with this `server_version_num` is unsuitable. */
export function refusePostgres(versionNumber: number): void {
  const major = Math.floor(versionNumber / 10_000);
  if (major < POSTGRES_AT_LEAST) {
    throw new StartError(`Laurel needs Postgres ${POSTGRES_AT_LEAST} or newer; this one is ${major}.`);
  }
}

async function untilAnswered<T>(name: string, variable: string, ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof StartError) throw error;
      const problem = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : String(error);
      const text = `${name} does not answer (${problem}); is ${variable} right and the server running?`;
      if (!mayPass(error)) throw new StartError(text);
      if (performance.now() > deadline) throw new StartError(text);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** Whether waiting can help. It cannot help against a wrong password, a missing database or an untrusted certificate. */
function mayPass(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return !/^(28|3D)|CERT/.test(code) && !/WRONGPASS|NOAUTH/.test(String(error));
}

/** Timeout for connecting to a server, and for its answers. */
const PATIENCE_MS = 2_000;

/** A Redis setting that Laurel relies on, and the cost of another value. */
interface Advice {
  setting: string;
  wanted: string;
  cost: string;
  /** The advice concerns only such servers. */
  of?: 'replicated' | 'cluster';
}

/** The other settings of ops/redis.conf matter little, or `refuseRedis` checks them. */
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

/** Warns of Redis settings that differ from ops/redis.conf, where CONFIG GET is allowed. Never rejects. */
export async function warnOfRedisSettings(redisUrl: string, log: Log): Promise<void> {
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
  const answer = await inTime(
    readSettings(redis).catch(() => null),
    PATIENCE_MS,
    null,
  );
  if (answer === null) return;
  const wrong = ADVICE.filter(
    ({ setting, wanted, of }) =>
      (of === undefined || answer.is[of]) && (answer.settings.get(setting) ?? wanted) !== wanted,
  );
  if (wrong.length === 0) return;
  const texts = wrong.map(
    ({ setting, wanted, cost }) => `${setting} is "${answer.settings.get(setting)}", not "${wanted}": ${cost}`,
  );
  log.warn({ redis: name }, `Redis has other settings than ops/redis.conf: ${texts.join('; ')}`);
}

/** Rejects if the server does not answer in time or does not allow the command. */
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
