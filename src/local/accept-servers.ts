import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { addressOptions } from '../redis-address.ts';
import { parseRedisEntries } from '../redis-entries.ts';
import { StartError } from '../start-error.ts';

const REDIS_AT_LEAST = [7, 0] as const;
const POSTGRES_AT_LEAST = 15;
/** How long a server that does not answer yet is waited for: one started at the same time may need it. */
const WAIT_MS = 15_000;

/** The same of a Redis beside others that answer: Laurel starts without it. How often it is tried again then. */
const WAIT_BESIDE_OTHERS_MS = 5_000;
const AGAIN_MS = 5_000;

/** Callbacks for one of several Redis that is away at the start. */
export interface OnAway {
  /** It does not answer; Laurel starts without it. */
  onAway: (name: string) => void;
  /** It answers by now, and cannot be used. */
  onRefused: (name: string, error: StartError) => void;
  /** Aborted: it is not tried any more. */
  ending: AbortSignal;
}

/** A server does not answer, and may later. */
class ServerAway extends StartError {}

/**
 * Refuses servers that Laurel cannot keep its promises on, with a sentence each: a Redis older than 7.0, one
 * that may evict keys, a replica, a node of a cluster, a Postgres older than 15 or behind a pooler that lends connections for one
 * transaction, either of them away. One of the two may be left out. Of several Redis only one has to answer if `away` is given.
 */
export async function acceptServers(
  { redisUrl, databaseUrl }: { redisUrl?: string; databaseUrl?: string },
  away?: OnAway,
): Promise<void> {
  if (databaseUrl !== undefined && redisUrl === undefined) return acceptPostgres(databaseUrl);
  const entries = parseRedisEntries(redisUrl ?? '');
  if (typeof entries === 'string') throw new StartError(`REDIS_URL ${entries}`);
  const redises = entries.map(({ name, url }) => ({ name, url, accepted: acceptRedis(url) }));
  const accepted = away === undefined ? Promise.all(redises.map((each) => each.accepted)) : acceptSome(redises, away);
  await Promise.all([accepted, databaseUrl === undefined ? null : acceptPostgres(databaseUrl)]);
}

interface Accepting {
  name: string;
  url: string;
  accepted: Promise<void>;
}

/** Resolves when all Redis are accepted, or one is and the others do not answer soon. */
async function acceptSome(redises: readonly Accepting[], away: OnAway): Promise<void> {
  const waited = new AbortController();
  const acceptedWithin = (ms: number): Promise<boolean[]> => {
    const late = sleep(ms, false, { signal: waited.signal }).catch(() => false);
    return Promise.all(redises.map(({ accepted }) => Promise.race([accepted.then(() => true).catch(orAway), late])));
  };
  try {
    let isAccepted = await acceptedWithin(WAIT_BESIDE_OTHERS_MS);
    if (!isAccepted.includes(true)) {
      // With none nothing can be done: the first that comes up suffices.
      await Promise.any(redises.map(({ accepted }) => accepted)).catch(() => redises[0]!.accepted);
      isAccepted = await acceptedWithin(0);
    }
    for (const [index, redis] of redises.entries()) {
      if (isAccepted[index]) continue;
      away.onAway(redis.name);
      void acceptLater(redis, away);
    }
  } finally {
    waited.abort();
  }
}

async function acceptLater({ name, url, accepted }: Accepting, { onRefused, ending }: OnAway): Promise<void> {
  try {
    let isAccepted = await accepted.then(() => true).catch(orAway);
    while (!isAccepted && !ending.aborted) {
      await sleep(AGAIN_MS, undefined, { signal: ending }).catch(() => undefined);
      if (!ending.aborted)
        isAccepted = await acceptRedis(url)
          .then(() => true)
          .catch(orAway);
    }
  } catch (error) {
    onRefused(name, error as StartError);
  }
}

/** False for a server that is away; anything else is thrown on. */
function orAway(error: unknown): false {
  if (error instanceof ServerAway) return false;
  throw error;
}

async function acceptRedis(url: string): Promise<void> {
  const info = await untilAnswered('Redis', 'REDIS_URL', async () => {
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
  refuseRedis(info);
}

/** Throws a `StartError` if the Redis with this INFO cannot be used. */
export function refuseRedis(info: string): void {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const version = field('redis_version') ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [needMajor, needMinor] = REDIS_AT_LEAST;
  if (major < needMajor || (major === needMajor && minor < needMinor)) {
    throw new StartError(`Laurel needs Redis ${needMajor}.${needMinor} or newer; the one it was given is ${version}.`);
  }
  if (field('role') === 'slave') {
    throw new StartError(
      `The Redis at REDIS_URL is a replica (of ${field('master_host')}:${field('master_port')}), which takes no writes: ` +
        'name its master, or its Sentinels (redis+sentinel://host:port/name), which know it after a failover too.',
    );
  }
  if (field('cluster_enabled') === '1') {
    throw new StartError(
      'The Redis at REDIS_URL is a node of a cluster; Laurel places its shards itself: name a master, with replicas or without, ' +
        'or several that know nothing of each other, with commas between them.',
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

/** How often it is tried: a pooler with several connections may lend the same one again by chance. */
const LENT = 3;

/** Whether a connection is another server process's, or another client's, as soon as its transaction is over. */
async function lendsSessions(client: pg.Client, other: pg.Client): Promise<boolean> {
  const process = async (of: pg.Client): Promise<number> =>
    (await of.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
  const first = await process(client);
  for (let tries = 0; tries < LENT; tries++) {
    // While the other is in a transaction, nobody else is lent its connection.
    await other.query('BEGIN');
    const [taken, still] = [await process(other), await process(client)];
    await other.query('COMMIT');
    if (taken === first || still !== first) return true;
  }
  return false;
}

/** Throws a `StartError` if the Postgres with this `server_version_num` cannot be used. */
export function refusePostgres(versionNumber: number): void {
  const major = Math.floor(versionNumber / 10_000);
  if (major < POSTGRES_AT_LEAST) {
    throw new StartError(`Laurel needs Postgres ${POSTGRES_AT_LEAST} or newer; the one it was given is ${major}.`);
  }
}

async function untilAnswered<T>(name: string, variable: string, ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof StartError) throw error;
      const problem = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : String(error);
      const text = `${name} does not answer (${problem}); is ${variable} right and the server running?`;
      if (!mayPass(error)) throw new StartError(text);
      if (Date.now() > deadline) throw new ServerAway(text);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** Whether waiting can help: a wrong password, a database that does not exist or a certificate that nobody trusts stays wrong. */
function mayPass(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return !/^(28|3D)|CERT/.test(code) && !/WRONGPASS|NOAUTH/.test(String(error));
}
