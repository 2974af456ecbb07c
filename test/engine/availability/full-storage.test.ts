import { expect, test } from 'vitest';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));

const flip = (user: string) => laurel.app.post('/v1/metrics/flips/event', { user: { id: user }, value: 1 });
const degraded = async (): Promise<unknown> => {
  const answer = await fetch(`${laurel.appUrl}/readyz`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { degraded?: unknown }).degraded ?? [];
};
const metrics = async (): Promise<string> => (await fetch(`${laurel.adminUrl}/metrics`)).text();

test('a Redis at its memory limit: writes say so, readiness and metrics show it, and nothing is half written', async () => {
  let accepted = 0;
  const { redis } = laurel;
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);
  await redis.config('SET', 'maxmemory', used + 500_000);
  try {
    // The limit is reached by a function's own writes.
    let answer = await flip('ada');
    for (; answer.status === 201 || answer.status === 202; answer = await flip(`user ${accepted}`)) {
      accepted += 1;
      if (accepted === 200) await redis.config('SET', 'maxmemory', 1_000_000);
    }
    expect(answer).toMatchObject({ status: 503, body: { code: 'storage_full' } });
    await expect.poll(degraded).toContain('Redis memory');
    // The buffers of clients count, and may have shrunk since.
    await redis.config('SET', 'maxmemory', 1_000_000);
    const ratio = async (): Promise<number> =>
      Number(/laurel_redis_memory_used_ratio\{[^}]*\} ([\d.]+)/.exec(await metrics())![1]);
    await expect.poll(ratio).toBeGreaterThan(1);
    expect((await laurel.app.get('/v1/users/ada/metrics/flips')).status).toBe(200);
    const attention = async (): Promise<unknown> => (await laurel.admin.get('/v1/attention')).body[0];
    await expect.poll(attention).toMatchObject({ kind: 'memory_full', urgent: true, screen: '/system' });
    await redis.config('SET', 'maxmemory', Math.ceil(used * 20));
    await expect.poll(async () => (await laurel.admin.get('/v1/attention')).body).toEqual([]);
    // The use changes a little all the time.
    const nearlyFull = async (): Promise<unknown> => {
      const now = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);
      await redis.config('SET', 'maxmemory', Math.ceil(now / 0.95));
      return attention();
    };
    await expect.poll(nearlyFull).toMatchObject({ kind: 'memory_full', urgent: false });
  } finally {
    await redis.config('SET', 'maxmemory', 0);
  }
  await expect.poll(degraded).toEqual([]);
  expect((await flip('ada')).status).toBe(201);
  const stored = async () => (await laurel.pool.query('SELECT FROM events')).rowCount;
  await expect.poll(stored).toBe(accepted + 1);
  await verify({ redis, pool: laurel.pool, onDifference: ({ key }) => expect.fail(key) });
});

test('a Postgres whose disk is full: events are accepted, readiness and metrics show it', async () => {
  await laurel.pool.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
  await laurel.pool.query('CREATE TRIGGER full_disk BEFORE INSERT ON events EXECUTE FUNCTION full_disk()');
  try {
    expect((await flip('ada')).status).toBe(201);
    await expect.poll(degraded).toContain('Postgres disk');
    // Shown for 10 s after each refused write; workers try again all the time.
    await expect.poll(metrics).toContain('laurel_postgres_disk_full 1');
    expect((await flip('ada')).status).toBe(201);
  } finally {
    await laurel.pool.query('DROP FUNCTION full_disk CASCADE');
  }
  await expect.poll(degraded).toEqual([]);
  await expect.poll(metrics).toContain('laurel_postgres_disk_full 0');
});

test('a Postgres whose disk is full for a request shows it without any event', async () => {
  await laurel.pool.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
  await laurel.pool.query('CREATE TRIGGER full_disk BEFORE INSERT ON application_keys EXECUTE FUNCTION full_disk()');
  try {
    const refused = async (): Promise<unknown> => {
      const answer = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
      expect(answer).toMatchObject({ status: 503, body: { code: 'storage_full' } });
      return degraded();
    };
    await expect.poll(refused).toContain('Postgres disk');
  } finally {
    await laurel.pool.query('DROP FUNCTION full_disk CASCADE');
  }
});
