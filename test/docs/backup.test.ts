import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseServerUser } from '../../src/local/guarded-process.ts';
import { type LocalServer, startPostgres } from '../../src/local/postgres-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { onServer } from '../stack/shared-postgres.ts';
import { testStack } from '../stack/stack.ts';
import { STUDY_APP } from '../study-app.ts';
import { blocksOf } from './documents.ts';

// The drill of docs/operating/backup.md, with its commands: a backup of a running Laurel, restored beside an empty Redis. The
// Postgres that comes with npm has no tools, so this needs a Postgres of the system, with them.
const run = promisify(execFile);
const PASSWORD = 'test';
const PROGRAMS = ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'pg_basebackup', 'pg_verifybackup'];

/** The folder of the newest Postgres of this machine that has all programs; `null` if none has. */
function programsFolder(): string | null {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((one) => join(debian, one, 'bin')), ...(process.env['PATH'] ?? '').split(':')];
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(join(folder, program)))) ?? null;
}

const programs = programsFolder();
const reason = `no Postgres of this machine has ${PROGRAMS.join(', ')}`;

let folder: string;
let blocks: string[];
let cli: string;
let server: LocalServer;
let laurel: TestLaurel;

const startServer = (directory: string): Promise<LocalServer> =>
  startPostgres({ directory, password: PASSWORD, temporary: true, programs: programs! });

/** Runs the block of the page that begins with a command. Throws if it fails. */
async function runBlock(command: string, variables: Record<string, string>): Promise<string> {
  const found = blocks.filter((block) => block.startsWith(command));
  expect(found).toHaveLength(1);
  const script = `npx() { shift; "$NODE" "$CLI" "$@"; }\n${found[0]}`;
  const path = `${programs}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, NODE: process.execPath, CLI: cli, ...variables };
  const { stdout } = await run('bash', ['-euc', script], { cwd: folder, env });
  return stdout;
}

const event = async ({ app }: TestLaurel, key: string): Promise<{ status: number; body: { total: number } }> =>
  app.post(
    '/v1/metrics/flips/event',
    { user: { id: 'ada', tz: 'UTC' }, value: 4 },
    { headers: { 'Idempotency-Key': key } },
  );

beforeAll(async () => {
  if (programs === null) return;
  folder = await mkdtemp(join(DATA_FOLDER, 'laurel-backup-'));
  const text = await readFile(join(PACKAGE_ROOT, 'docs/operating/backup.md'), 'utf8');
  blocks = blocksOf({ path: '', text });
  cli = join(await inFewFiles(), 'src/cli/main.js');
  server = await startServer(join(DATA_FOLDER, `laurel-test-postgres-${randomUUID()}`));
  const pool = createPool(server.url, { max: 1 });
  await migrate(pool);
  await pool.end();
  laurel = await startLaurel({ databaseUrl: server.url, configuration: STUDY_APP, workers: true });
});
afterAll(async () => {
  if (programs === null) return;
  await laurel.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

/** Rebuilds an empty Redis from a restored database, and asks a Laurel there for the user. */
async function continueOn(databaseUrl: string): Promise<object> {
  const stack = await testStack({ database: 'none' });
  const { redisUrl } = stack;
  const commands = await runBlock('npx laurel rebuild && ', { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl });
  const restored = await startLaurel({ databaseUrl, redisUrl, adminKey: laurel.adminKey });
  const achievements = (await restored.app.get('/v1/users/ada/achievements')).body as { key: string }[];
  const found = {
    commands,
    total: (await restored.app.get('/v1/users/ada/metrics/flips')).body.current as number,
    achievements: achievements.map(({ key }) => key).toSorted(),
    statusOfRepeated: (await event(restored, '3')).status,
    totalWithLater: (await event(restored, 'later')).body.total,
  };
  await restored.close();
  await stack.close();
  return found;
}

/** Nothing of the backup is missing or counted twice. The later event is not in it, and may come again. */
const AS_BACKED_UP = {
  commands: expect.stringMatching(/Redis is rebuilt[^]*No differences\./) as string,
  total: 12,
  achievements: ['both', 'day', 'ten'],
  statusOfRepeated: 202,
  totalWithLater: 16,
};

test('both kinds of backup are made while Laurel runs', async (context) => {
  context.skip(programs === null, reason);
  for (const key of ['1', '2', '3']) expect((await event(laurel, key)).status).toBe(201);
  await expect.poll(() => onServer(server.url, 'SELECT count(*)::int AS n FROM events')).toEqual([{ n: 3 }]);
  await runBlock('pg_dump ', { DATABASE_URL: server.url });
  await runBlock('pg_basebackup ', { DATABASE_URL: server.url });
  expect((await event(laurel, 'later')).status).toBe(201);
});

test('a file is restored into an empty database', async (context) => {
  context.skip(programs === null, reason);
  await onServer(server.url, 'CREATE DATABASE restored');
  const restored = server.url.replace(/[^/]*$/, 'restored');
  await runBlock('pg_restore ', { DATABASE_URL: restored });
  expect(await continueOn(restored)).toEqual(AS_BACKED_UP);
});

test('a Postgres starts on a base backup', async (context) => {
  context.skip(programs === null, reason);
  const base = join(folder, 'laurel-base');
  // The page says that the server's user makes it. This was the user of the test.
  const user = chooseServerUser(base, [base]);
  if ('owner' in user && user.owner) await run('chown', ['-R', `${user.owner.uid}:${user.owner.gid}`, folder]);
  const copy = await startServer(base);
  expect(await continueOn(copy.url)).toEqual(AS_BACKED_UP);
  await copy.stop();
});
