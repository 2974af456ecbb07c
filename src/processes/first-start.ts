import type { Pool } from 'pg';
import { ConfigurationStore } from '../catalog/configuration/store.ts';
import { loadDemo } from '../catalog/demo.ts';
import { ownVersion } from '../engine/rebuild/marks.ts';
import type { Env } from '../env.ts';
import type { Log } from '../log/log.ts';
import { AdminKeys } from '../postgres/access/admin-keys.ts';
import { loadCatalog } from '../postgres/catalog.ts';
import { migrate } from '../postgres/migrate.ts';
import { retentionTooShort } from '../postgres/partitions/event-retention.ts';
import { createPool } from '../postgres/pool.ts';
import { refuseOtherVersions } from '../postgres/running-versions.ts';
import { makeSignInToken } from '../postgres/access/sessions.ts';
import { StartError } from '../start-error.ts';
import { connectRedis, redisReady } from '../redis/client.ts';
import { publishSignal } from '../redis/signals.ts';
import { isConsoleBuilt } from './pages.ts';

export interface Prepared {
  /** An admin key that was made now, to be shown this once; null: there was one already, or the operator set one. */
  newKey: string | null;
  /** Token of a link that signs in to the console once; null: there is no console, or who reads this may not be who operates it. */
  signInToken: string | null;
  /** Key of a metric to try; null: there is none, or this is production. */
  metricToTry: string | null;
  /** Whether the demo is configured. */
  demo: boolean;
}

/** So long a Redis is waited for that was found there, or away, a moment ago. */
const ANNOUNCE_MS = 1_000;

/**
 * Brings the database to this version and sees to it that there is an admin key; a database without configuration gets the demo,
 * outside production and unless `LAUREL_DEMO` is 0. Safe to call at every start, in several processes at once.
 */
export async function prepareDatabase({
  env,
  servers,
  log,
}: {
  env: Env;
  servers: { redisUrl: string; databaseUrl: string };
  log?: Log;
}): Promise<Prepared> {
  const pool = createPool(servers.databaseUrl, { max: 3 });
  // It only carries news of what is made here. Processes that miss the news read all of it from Postgres.
  const redis = await connectRedis(servers.redisUrl, ANNOUNCE_MS).catch(() => null);
  redis?.on('error', () => undefined);
  const publish = async (message: string): Promise<void> => {
    if (redis !== null) await publishSignal(redis, 'changes', message);
  };
  try {
    if (redis !== null) await redisReady(redis, ANNOUNCE_MS).catch(() => undefined);
    // Before the database is changed, which cannot be taken back.
    await refuseOtherVersions(pool, ownVersion());
    const startedMs = performance.now();
    const applied = await migrate(pool);
    if (applied.length > 0) {
      const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
      log?.info({ migrations: applied.length, newest: applied.at(-1), seconds }, 'the database is migrated');
    }
    const tooShort = await retentionTooShort(pool, env.eventRetentionDays);
    if (tooShort !== null) throw new StartError(tooShort);
    const stored = await new AdminKeys({ pool, announce: publish }).ensureFirst(env.adminApiKey);
    const configuration = new ConfigurationStore({ pool, announce: publish });
    if (env.demo && (await loadDemo(configuration)))
      log?.info({}, 'the demo is configured; LAUREL_DEMO=0 leaves it out');
    // A key that the operator set is known to them, and what is printed here is kept by collectors of logs.
    const newKey = env.adminApiKey === null ? stored : null;
    // In production logs are collected, and whoever reads them may not be who may change everything: only where the key is printed too.
    const maySignIn = isConsoleBuilt() && (!env.production || newKey !== null);
    const signInToken = maySignIn ? await makeSignInToken(pool, Date.now()) : null;
    const [metricToTry, demo] = await Promise.all([firstMetric(pool), configuration.hasDemo(0)]);
    const shown = env.production ? { metricToTry: null, demo: false } : { metricToTry, demo };
    return { newKey, signInToken, ...shown };
  } finally {
    redis?.disconnect();
    await pool.end();
  }
}

async function firstMetric(pool: Pool): Promise<string | null> {
  const catalog = await loadCatalog(pool, 0);
  return catalog?.metrics[0]?.key ?? null;
}
