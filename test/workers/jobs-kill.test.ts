import type { ChildProcess } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import type { JobKind, ShownJob } from '../../src/domain/administration/job.ts';
import { verify } from '../../src/engine/rebuild/verify.ts';
import { Supervisor } from '../../src/processes/supervisor.ts';
import { addJob } from '../../src/postgres/jobs.ts';
import { outboxKey } from '../../src/redis/keys.ts';
import { publishSignal } from '../../src/redis/signals.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { DYING_WORKER, DyingWorkers } from './dying-workers.ts';
import { exitOf, messageOf } from '../stack/child-process.ts';

// Jobs of each kind in turn: a worker is killed at each moment of a slice, and the next one continues. The last one, which
// finishes the job, is the first to be killed in the next.

const USERS = 430;
/**
 * The occurrences of each moment at which to kill: before anything is done, when a slice is recorded and another is not, and
 * between two.
 */
const DEATHS = [
  ['leased', 1],
  ['recording', 2],
  ['recorded', 1],
] as const;

const configuration = (points: number, more: Partial<Configuration> = {}): Configuration => ({
  metrics: [{ key: 'm', name: 'M' }],
  achievements: [],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points, status: 'active' }],
    },
  ],
  leaderboards: [],
  ...more,
});
const one = { trigger: 'metric', metricKey: 'm', metricValue: 1, status: 'active' } as const;
const board = { rankBy: 'points', pointsSystemKey: 'xp', start: '2020-01-01', status: 'active' } as const;
const achievements = [{ key: 'one', name: 'One', ...one }];
const leaderboards = [{ key: 'xp', name: 'XP', ...board }];

let laurel: TestLaurel;
let receiver: Server;
const workers = new DyingWorkers();
const LEASE = { LEASE_MS: '1000' };
/** The one that runs. */
let worker: ChildProcess | undefined;
beforeAll(async () => {
  receiver = createServer((_request, response) => response.end('Thanks'));
  await new Promise<void>((listening) => void receiver.listen(0, '127.0.0.1', listening));
  laurel = await startLaurel({ configuration: configuration(1), webhookAllowPrivate: true });
  await startWorker();
  const events = Array.from({ length: USERS }, (_, n) => ({ key: 'm', user: { id: `user ${n}` }, value: 1 }));
  const { status, body } = await laurel.admin.post('/v1/metrics/events', events);
  if (status >= 300) throw new Error(JSON.stringify(body));
  while ((await count('events')) < USERS) await sleep(50);
});
afterEach(async ({ task }) => {
  // The one of a test that failed has ended or is to die.
  if (task.result?.state === 'fail') await startWorker();
});
afterAll(async () => {
  workers.close();
  await laurel.close();
  await new Promise((closed) => receiver.close(closed));
});

async function startWorker(): Promise<void> {
  worker?.kill('SIGKILL');
  worker = workers.start(laurel, LEASE);
  await messageOf(worker);
}

const count = async (of: string): Promise<number> =>
  (await laurel.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${of}`)).rows[0]!.n;
const configure = async (asked: Configuration): Promise<void> => {
  const { status, body } = await laurel.admin.put('/v1/configuration', asked);
  expect({ status, body }).toMatchObject({ status: 200 });
};
const points = async (): Promise<Record<string, number>> => {
  const { rows } = await laurel.pool.query<{ total: number; users: number }>(
    `SELECT total, count(*)::int AS users FROM (SELECT sum(awarded)::int AS total FROM awards GROUP BY user_id) AS sums
      GROUP BY total`,
  );
  return Object.fromEntries(rows.map(({ total, users }) => [total, users]));
};
const scores = async (): Promise<Record<number, number>> => {
  const { rankings } = (await laurel.app.get('/v1/leaderboards/xp?limit=1000')).body;
  const users: Record<number, number> = {};
  for (const { value } of rankings as { value: number }[]) users[value] = (users[value] ?? 0) + 1;
  return users;
};

/** Begins a job of a kind, kills a worker at each moment of it, has another one finish it, and returns the finished job. */
async function killed(kind: JobKind, begin: () => Promise<void>): Promise<ShownJob> {
  const newest = async (): Promise<ShownJob> => (await laurel.admin.get(`/v1/jobs?kind=${kind}&limit=1`)).body[0];
  for (const [index, [moment, nth]] of DEATHS.entries()) {
    const step = `${kind} ${moment}`;
    if (index === 0) {
      await workers.dieAt(worker!, step, nth);
      await begin();
    } else worker = workers.start(laurel, { ...LEASE, DIE_AT: step, DIE_AT_NTH: String(nth) });
    const [, signal] = await exitOf(worker!);
    expect([moment, signal]).toEqual([moment, 'SIGKILL']);
    expect((await newest()).finished).toBeNull();
  }
  worker = workers.start(laurel, LEASE);
  await expect.poll(async () => (await newest()).status).toBe('done');
  // Its outbox entries are stored.
  await expect.poll(() => laurel.redis.xlen(outboxKey(0))).toBe(0);
  return newest();
}

test('backdating completes an achievement once for everybody', async () => {
  const begin = () => configure(configuration(1, { achievements }));
  expect((await killed('backdating', begin)).progress).toEqual({ done: USERS, total: USERS });
  expect(await count('completions')).toBe(USERS);
});

test('a filled leaderboard has the scores of history', async () => {
  const begin = () => configure(configuration(1, { achievements, leaderboards }));
  expect((await killed('leaderboard_filling', begin)).progress).toEqual({ done: USERS, total: USERS });
  expect(await scores()).toEqual({ 1: USERS });
});

test('a recomputation is planned, applied and reverted once for everybody', async () => {
  await configure(configuration(5, { achievements, leaderboards }));
  const accepted = async (path: string, body?: object): Promise<{ id: string }> => {
    const answer = await laurel.admin.post(path, body);
    expect(answer.status).toBe(202);
    return answer.body;
  };
  let id = '';
  const ask = async () => void ({ id } = await accepted('/v1/recomputations', { what: ['points', 'boards'] }));
  expect((await killed('recomputation_planning', ask)).subject).toMatchObject({ id });
  const path = `/v1/recomputations/${id}`;
  expect((await laurel.admin.get(path)).body).toMatchObject({
    status: 'planned',
    figures: { users: USERS, gaining: USERS },
  });
  await killed('recomputation_applying', async () => void (await accepted(`${path}/apply`)));
  expect((await laurel.admin.get(path)).body).toMatchObject({
    status: 'applied',
    outcome: { applied: USERS, skipped: 0 },
  });
  expect([await points(), await scores()]).toEqual([{ 5: USERS }, { 5: USERS }]);
  await killed('recomputation_reverting', async () => void (await accepted(`${path}/revert`)));
  expect([await points(), await scores()]).toEqual([{ 1: USERS }, { 1: USERS }]);
});

test('queues each selected message once', async () => {
  const { port } = receiver.address() as { port: number };
  const hook = { name: 'News', url: `http://127.0.0.1:${port}/laurel`, events: ['points.changed'] };
  const webhookId = (await laurel.admin.post('/v1/webhooks', [hook])).body.created[0].id;
  const messages = 2_200;
  await laurel.pool.query(
    `INSERT INTO webhook_messages (day, id, webhook_id, tenant_no, type, sequence, at, created, payload, status, failed)
     SELECT floor(extract(epoch FROM now()) / 86400), gen_random_uuid(), $1, 0, 'points.changed', nextval('webhook_sequences'), now(), now(), '{}', 'failed', true
       FROM generate_series(1, $2)`,
    [webhookId, messages],
  );
  const begin = async () => expect((await laurel.admin.post(`/v1/webhooks/${webhookId}/resend`, {})).status).toBe(202);
  // A resend waits while many messages do: they count as delivered.
  const delivering = setInterval(
    () => void laurel.pool.query('DELETE FROM webhook_queue WHERE webhook_id = $1', [webhookId]).catch(() => undefined),
    100,
  );
  try {
    expect((await killed('webhook_resend', begin)).progress).toEqual({ done: messages, total: messages });
  } finally {
    clearInterval(delivering);
  }
});

test('a verification finds each difference once, and goes on where it was', async () => {
  await laurel.redis.set('{s0}:0:u:user 7', (await laurel.redis.getBuffer('{s0}:0:u:user 8'))!);
  await laurel.redis.set('{s0}:0:u:nobody', (await laurel.redis.getBuffer('{s0}:0:u:user 8'))!);
  let id = '';
  const begin = async () => void ({ id } = (await laurel.admin.post('/v1/verifications', undefined)).body);
  const { progress } = await killed('verification', begin);
  expect(progress.done).toBeGreaterThanOrEqual(USERS);
  expect(progress.total).toBe(progress.done);
  const verification = (await laurel.admin.get(`/v1/verifications/${id}`)).body;
  expect(verification).toMatchObject({ status: 'done', differences: verification.found.length });
  expect(verification.found.map(({ key }: { key: string }) => key)).toEqual(['{s0}:0:u:nobody', '{s0}:0:u:user 7']);
  const stored = await laurel.pool.query<{ state: Buffer }>(`SELECT state FROM users WHERE id = 'user 7'`);
  await laurel.redis.set('{s0}:0:u:user 7', stored.rows[0]!.state);
  await laurel.redis.del('{s0}:0:u:nobody');
});

test('Redis agrees with Postgres', async () => {
  expect(await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: () => undefined })).toBe(0);
});

test('old events become sums, and their partition is dropped', async () => {
  const events = 12_000;
  await laurel.pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, at, local_date, value, total)
     SELECT ('00000001-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 0, 'user ' || n % $2, 1, '1970-01-01', '1970-01-01', 1, 1
       FROM generate_series(1, $1::int) AS n`,
    [events, USERS],
  );
  const begin = async (): Promise<void> => {
    await addJob(laurel.pool, { kind: 'event_retention', tenantNo: null, parameters: { firstDay: 0 } });
    await publishSignal(laurel.redis, 'jobs', '');
  };
  expect((await killed('event_retention', begin)).progress.done).toBe(events);
  const { rows } = await laurel.pool.query(
    `SELECT sum(events)::int AS events, to_regclass('events_d0') AS partition FROM event_days WHERE local_date = '1970-01-01'`,
  );
  expect(rows).toEqual([{ events, partition: null }]);
});

test('a killed conversion goes on with the next worker of the supervisor, within the lease of the one that was killed', async () => {
  // The only worker left is the supervisor's.
  workers.close();
  const leaseMs = 3_600_000;
  const exits: string[] = [];
  const note = (): void => undefined;
  const supervisor = new Supervisor({
    info: note,
    warn: note,
    error: (details) => void exits.push((details as { ended: string }).ended),
  });
  const { redisUrl, databaseUrl } = laurel;
  const env = {
    ...process.env,
    REDIS_URL: redisUrl,
    DATABASE_URL: databaseUrl,
    LEASE_MS: String(leaseMs),
    // The tenant is closed by then.
    DIE_AT: 'tenant_spreading recording',
    DIE_AT_NTH: '1',
  };
  await supervisor.start({ name: 'worker', file: DYING_WORKER, env });
  try {
    const { status, body } = await laurel.admin.put('/v1/spread', { shards: 2 });
    expect(status).toBe(202);
    const job = async (): Promise<ShownJob> => (await laurel.admin.get(`/v1/jobs/${body.id}`)).body;
    await expect.poll(async () => (await job()).status).toBe('done');
    expect(exits).toEqual(['SIGKILL']);
    // The lease of the killed worker began with the job.
    const { started, finished } = await job();
    expect(Date.parse(finished!)).toBeLessThan(Date.parse(started!) + leaseMs);
    await expect.poll(async () => (await laurel.app.get('/v1/users/user 1')).status).toBe(200);
  } finally {
    await supervisor.stop('worker', 120_000);
  }
});
