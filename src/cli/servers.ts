import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { rebuildServers } from '../engine/availability/accept.ts';
import { PostgresIsOlder, readGaps } from '../engine/availability/inspection.ts';
import type { SetAside } from '../engine/persist/refused-entries.ts';
import type { Difference } from '../engine/rebuild/confirmation.ts';
import { ownVersion } from '../engine/rebuild/marks.ts';
import { verify } from '../engine/rebuild/verify.ts';
import { readEnv } from '../settings/env.ts';
import { joinServers } from '../local/private-services.ts';
import { countLetters } from '../postgres/corrections/dead-letters.ts';
import { isMigrated, migrate, MigrationError } from '../postgres/migrate.ts';
import { createPool } from '../postgres/pool.ts';
import { refuseOtherVersions } from '../postgres/running-versions.ts';
import { connectRedis, redisReady } from '../redis/client.ts';
import { byServer, onServer } from '../redis/endpoints.ts';
import { SHARD_NUMBERS } from '../redis/keys.ts';
import { StartError } from '../start-error.ts';
import { CommandError, EXIT, print, progressBar } from './command.ts';
import { counted } from '../domain/words.ts';

/**
 * Runs a command on Redis and Postgres: those of REDIS_URL and DATABASE_URL, or the private ones, which are started unless
 * a running Laurel has them. `shards`: waits until each Redis that holds one of them answers; the command handles
 * the others itself.
 */
export async function withServers<T>(
  work: (servers: { redis: Redis; pool: Pool }) => Promise<T>,
  shards: readonly number[] = SHARD_NUMBERS,
): Promise<T> {
  const servers = await joinServers(readEnv(process.env), (line) => process.stderr.write(`${line}\n`));
  const pool = createPool(servers.databaseUrl, { max: 5 });
  let redis: Redis | null = null;
  try {
    const migrated = await isMigrated(pool).catch((error: Error) => {
      if (error instanceof MigrationError) throw new CommandError(error.message);
      throw new CommandError(`Postgres cannot be asked (${error.message}). DATABASE_URL says where it is.`);
    });
    if (!migrated)
      throw new CommandError('The database is not of this version: start Laurel first, or run `laurel migrate`.');
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

/**
 * Migrates the database of DATABASE_URL. Idempotent; several may run at once. Throws a `StartError` while processes of an
 * incompatible version run, before it changes anything.
 */
export async function runMigrate(json: boolean): Promise<void> {
  const { databaseUrl } = readEnv(process.env);
  if (databaseUrl === null) throw new CommandError('DATABASE_URL is missing. A start migrates its private Postgres.');
  const pool = createPool(databaseUrl, { max: 2 });
  try {
    await refuseOtherVersions(pool, ownVersion());
    const applied = await migrate(pool);
    const migrationText =
      applied.length === 0 ? 'The database is of this version.\n' : `Applied ${applied.join(', ')}.\n`;
    print(json, { applied }, migrationText);
  } catch (error) {
    if (error instanceof MigrationError) throw new CommandError(error.message);
    if (error instanceof StartError) throw error;
    throw new CommandError(`The database could not be migrated: ${(error as Error).message}`);
  } finally {
    await pool.end();
  }
}

const MOST_SHOWN = 1_000;
const short = (text: string): string => (text.length > 120 ? `${text.slice(0, 117)}…` : text);

/** Users whose state in Postgres cannot be read. They are reported at once, and counted. */
class Unreadable {
  readonly users: { tenantNo: number; id: string }[] = [];

  note = (user: { tenantNo: number; id: string }): void => {
    this.users.push(user);
    process.stderr.write(`\nThe state of user ${user.id} of tenant ${user.tenantNo} cannot be read.\n`);
  };
}

/** A sentence about entries that are missing in Postgres because they could not be stored; '' if there are none. */
const deadLettersText = (waiting: number): string =>
  waiting === 0
    ? ''
    : `${counted(waiting, 'dead letter')} could not be stored, so Postgres lacks ${waiting === 1 ? 'it' : 'them'}: \`laurel dead-letters list\`.\n`;

export function runVerify(options: { shards?: readonly number[]; json?: boolean }): Promise<void> {
  const { shards = SHARD_NUMBERS, json } = options;
  return withServers(async ({ redis, pool }) => {
    // The differences are then the remains of what Postgres lost, and a rebuild must not be recommended.
    const gaps = await readGaps(redis, pool, shards);
    if (gaps.length > 0) throw new PostgresIsOlder(gaps);
    const shown: Difference[] = [];
    const unreadable = new Unreadable();
    const onProgress = progressBar();
    const differences = await verify({
      redis,
      pool,
      shards,
      onProgress,
      onUnreadable: unreadable.note,
      onDifference: (difference) => {
        if (shown.length === MOST_SHOWN) return;
        shown.push(difference);
        if (json !== true) process.stdout.write(differenceText(difference));
      },
    });
    onProgress(null);
    const { waiting: deadLetters } = await countLetters(pool);
    const { users } = unreadable;
    const summary = verifiedText(differences, users.length) + deadLettersText(deadLetters);
    print(json, { differences, shown, unreadable: users, deadLetters }, `\n${summary}`);
    if (differences + users.length > 0) process.exitCode = EXIT.differs;
  }, shards);
}

function differenceText({ key, part, redis, postgres }: Difference): string {
  const name = part === '' ? key : `${key}  ${part}`;
  return `\n${name}\n  Redis:    ${short(redis)}\n  Postgres: ${short(postgres)}\n`;
}

function verifiedText(differences: number, unreadable: number): string {
  const text =
    differences === 0
      ? 'No differences'
      : `${counted(differences, 'difference')}; \`laurel rebuild\` corrects ${differences === 1 ? 'it' : 'them'}`;
  return unreadable === 0
    ? `${text}.\n`
    : `${text}. ${counted(unreadable, 'user')} could not be compared, because the stored state cannot be read.\n`;
}

/** Rebuilds Redis from Postgres, with progress. `acceptLoss`: even from a Postgres that was restored from an older state. */
export function runRebuild(options: {
  acceptLoss?: boolean;
  shards?: readonly number[];
  json?: boolean;
}): Promise<void> {
  const { acceptLoss = false, shards = SHARD_NUMBERS, json } = options;
  return withServers(async ({ redis, pool }) => {
    const startedMs = performance.now();
    const onSetAside = ({ id, reason }: SetAside): void =>
      void process.stderr.write(`\nAn entry of the outbox could not be stored and is set aside as ${id}: ${reason}\n`);
    const onProgress = progressBar();
    const unreadable = new Unreadable();
    await rebuildServers({ redis, pool, shards, acceptLoss, onProgress, onSetAside, onUnreadable: unreadable.note });
    onProgress(null);
    const seconds = Number(((performance.now() - startedMs) / 1000).toFixed(1));
    const what =
      shards === SHARD_NUMBERS
        ? 'Redis is'
        : shards.length === 1
          ? `Shard ${shards[0]} is`
          : `Shards ${shards.join(', ')} are`;
    const { waiting: deadLetters } = await countLetters(pool);
    const { users } = unreadable;
    const unreadableText = users.length === 0 ? '' : `${counted(users.length, 'user')} could not be rebuilt.\n`;
    const text = `\n${what} rebuilt, in ${seconds} s.\n${unreadableText}${deadLettersText(deadLetters)}`;
    print(json, { shards, seconds, unreadable: users, deadLetters }, text);
  }, shards);
}
