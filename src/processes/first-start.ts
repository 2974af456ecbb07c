import type { Pool } from 'pg';
import { systemClock } from '../clock.ts';
import { createConfigurationStore } from '../catalog/configuration/store.ts';
import { loadDemo } from '../catalog/demo.ts';
import { ownVersion } from '../engine/rebuild/marks.ts';
import type { Env } from '../settings/env.ts';
import { createAdminKeys } from '../postgres/access/admin-keys.ts';
import { makeSignInToken } from '../postgres/access/sessions.ts';
import { loadCatalog } from '../postgres/catalog.ts';
import { migrate, waitForMigrations } from '../postgres/migrate.ts';
import { retentionTooShort } from '../postgres/partitions.ts';
import { createPool } from '../postgres/pool.ts';
import { refuseOtherVersions } from '../postgres/running-versions.ts';
import { connectRedis, redisReady } from '../redis/client.ts';
import { publishSignal } from '../redis/signals.ts';
import { StartError } from '../start-error.ts';
import type { Log } from '../telemetry/log.ts';
import { isConsoleBuilt } from './pages.ts';

interface Prepared {
  /** A new admin key, to be shown once; null if one existed already, or if the operator set one. */
  newKey: string | null;
  /** Token of a link that signs in to the console once; null if there is no console, or if the reader may not be the operator. */
  signInToken: string | null;
  /** Key of a metric to try; null if there is none, or in production. */
  metricToTry: string | null;
  demo: boolean;
}

/** Time limit for connecting to a Redis that was checked a moment ago. */
const ANNOUNCE_MS = 1_000;

/**
 * Migrates the database, or waits until `laurel migrate` has (MIGRATE_AT_START=0), makes sure that an admin key exists, and
 * may load the demo. Safe in several processes.
 */
export async function prepareDatabase(
  env: Env,
  servers: { redisUrl: string; databaseUrl: string },
  log?: Log,
): Promise<Prepared> {
  const pool = createPool(servers.databaseUrl, { max: 3 });
  // Only announces the changes made here. Processes that miss the message read them from Postgres.
  const redis = await connectRedis(servers.redisUrl, ANNOUNCE_MS).catch(() => null);
  redis?.on('error', () => undefined);
  const publish = async (message: string): Promise<void> => {
    if (redis !== null) await publishSignal(redis, 'changes', message);
  };
  try {
    if (redis !== null) await redisReady(redis, ANNOUNCE_MS).catch(() => undefined);
    // Before the database is changed, which is irreversible.
    await refuseOtherVersions(pool, ownVersion());
    await (env.migrateAtStart ? applyMigrations(pool, log) : migrationsOfOthers(pool, log));
    const tooShort = await retentionTooShort(pool, env.eventRetentionDays);
    if (tooShort !== null) throw new StartError(tooShort);
    const stored = await createAdminKeys(pool, publish).ensureFirst(env.adminApiKey);
    const configuration = createConfigurationStore({ pool, announce: publish });
    if (env.demo && (await loadDemo(configuration))) log?.info({}, 'the demo is configured; LAUREL_DEMO=0 omits it');
    // The operator knows a key that they set, and log collectors would store a printed one.
    const newKey = env.adminApiKey === null ? stored : null;
    // In production, readers of collected logs may not be operators. So the link is printed only together with a new key.
    const maySignIn = isConsoleBuilt() && (!env.production || newKey !== null);
    const signInToken = maySignIn ? await makeSignInToken(pool, systemClock.now()) : null;
    const [metricToTry, demo] = await Promise.all([firstMetric(pool), configuration.hasDemo(0)]);
    const shown = env.production ? { metricToTry: null, demo: false } : { metricToTry, demo };
    return { newKey, signInToken, ...shown };
  } finally {
    redis?.disconnect();
    await pool.end();
  }
}

async function applyMigrations(pool: Pool, log: Log | undefined): Promise<void> {
  const startedMs = performance.now();
  const applied = await migrate(pool);
  if (applied.length === 0) return;
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  log?.info({ migrations: applied.length, newest: applied.at(-1), seconds }, 'the database is migrated');
}

/** A start that is called off ends the process. */
const NEVER = new AbortController().signal;

const migrationsOfOthers = (pool: Pool, log: Log | undefined): Promise<void> =>
  waitForMigrations(pool, NEVER, () => log?.info({}, 'waiting for `laurel migrate`'));

async function firstMetric(pool: Pool): Promise<string | null> {
  const catalog = await loadCatalog(pool, 0);
  return catalog?.metrics[0]?.key ?? null;
}

/** The text on the screen when everything runs: addresses, the first key (once), and an example call. */
export function welcome(env: Env, prepared: Prepared): string {
  const app = `http://${shown(env.host)}:${env.appPort}`;
  const admin = `http://${shown(env.adminHost)}:${env.adminPort}`;
  const lines = ['', 'Laurel is running.', `  Application API  ${app}`, `  Admin API        ${admin}`];
  if (prepared.signInToken !== null)
    lines.push(
      '',
      `  Console          ${admin}/console#token=${prepared.signInToken}`,
      '                   Signs you in once, within 15 minutes.',
    );
  const key = prepared.newKey ?? '$LAUREL_KEY';
  if (prepared.newKey !== null) {
    lines.push('', ...keyLines(prepared.newKey));
  }
  if (prepared.metricToTry !== null) {
    const known = prepared.newKey === null ? ', with the admin key in LAUREL_KEY' : '';
    lines.push(
      '',
      `Submit an event${known}:`,
      '',
      `  curl -sS -X POST ${app}/v1/metrics/${prepared.metricToTry}/event \\`,
      `    -H "X-API-KEY: ${key}" -H "Content-Type: application/json" \\`,
      `    -d '{"user":{"id":"ada","name":"Ada","tz":"Europe/London"},"value":12}'`,
    );
  }
  if (prepared.demo) {
    lines.push(
      '',
      'The configuration is a demo. `npx laurel config push <file>` offers to remove it; LAUREL_DEMO=0 at the first start',
      'omits it.',
    );
  } else if (prepared.metricToTry === null && !env.production) {
    lines.push(
      '',
      'No metric is configured yet: docs/configuration.md has an example for `npx laurel config push <file>`.',
    );
  }
  return [...lines, '', 'Ctrl-C ends it.', ''].join('\n');
}

const keyLines = (key: string): string[] => [
  `  Admin key        ${key}`,
  '                   Shown only once: keep it.',
];

/** Printed if a start that created the first key fails, because the next start cannot show the stored key. */
export const keyOfFailedStart = (key: string): string => ['', ...keyLines(key), ''].join('\n');

const shown = (host: string): string => (isEverywhere(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host);

const isEverywhere = (host: string): boolean => ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host);

/** Interval at which the screen reports that a step is still running, ms. */
const STILL_MS = 5_000;

/** Shows the steps of a start, one after another, with their durations. `say` prints a line. */
export class StartSteps {
  private readonly say: (line: string) => void;
  private readonly of: number;
  private no = 0;

  constructor(steps: number, say: (line: string) => void) {
    this.say = say;
    this.of = steps;
  }

  async run<T>({ name, waitsFor }: { name: string; waitsFor: string }, work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const seconds = (digits: number): string => ((performance.now() - startedMs) / 1000).toFixed(digits);
    this.no += 1;
    const label = `[${this.no}/${this.of}] ${name}`;
    this.say(`${label} …`);
    const timer = setInterval(() => this.say(`      waiting for ${waitsFor} (${seconds(0)} s)`), STILL_MS);
    try {
      const result = await work();
      this.say(`${label}: ${seconds(1)} s`);
      return result;
    } finally {
      clearInterval(timer);
    }
  }
}

/**
 * Size of the heap for young objects, MB (default: 16). All objects of a worker's transaction, and of the requests that wait in a
 * frontend, are young and alive until it ends or they are answered, and each garbage collection copies them.
 */
const YOUNG_MB = 64;

/**
 * By how much the heap of old objects may grow until its next collection, percent of what was alive after the last one. By
 * default V8 chooses little growth where few objects become old, as in a frontend, and so collects every few seconds; each
 * collection also marks on other cores, where Redis runs. V8 keeps the heap's limit in any case.
 */
const OLD_GROWTH_PERCENT = 300;

/** Node options of workers and frontends. */
export const NODE_OPTIONS: readonly string[] = [
  `--max-semi-space-size=${YOUNG_MB}`,
  `--heap-growing-percent=${OLD_GROWTH_PERCENT}`,
];
