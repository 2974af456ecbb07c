import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acceptServers } from '../../src/engine/availability/accept-servers.ts';
import { OwnRedis, type Secured } from '../engine/rebuild/own-redis.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { makeCertificates } from '../stack/certificates.ts';
import { STUDY_APP } from '../study-app.ts';
import { OwnSentinel } from './own-sentinel.ts';

describe.each(['without', 'with'])('Sentinels %s TLS and passwords', (securely) => {
  let secured: Secured | null = null;
  let master: OwnRedis;
  let sentinel: OwnSentinel;
  let laurel: TestLaurel;
  /** Ends what was started, in reverse order, after any failure. */
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    if (securely === 'with') {
      secured = { certificates: await makeCertificates(), password: 'not-a-secret' };
      closing.unshift(() => secured!.certificates.remove());
    }
    for (let n = 0; n < 2; n += 1) {
      const redis = await OwnRedis.start({}, secured);
      closing.unshift(() => redis.close());
      if (n === 0) master = redis;
      else await redis.follow(master);
    }
    sentinel = await OwnSentinel.start(master, secured);
    closing.unshift(() => sentinel.close());
    laurel = await startLaurel({ configuration: STUDY_APP, redisUrl: sentinel.url, workers: true });
    closing.unshift(() => laurel.close());
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  const event = (key: string): Promise<{ status: number; body: { total: number } }> =>
    laurel.app.post(
      '/v1/metrics/flips/event',
      { user: { id: 'ada' }, value: 1 },
      { headers: { 'Idempotency-Key': key } },
    );
  /** Like a client: repeats it while Redis counts as down, as on a busy machine it may without a reason. */
  const insist = async (key: string): ReturnType<typeof event> => {
    let answer = await event(key);
    for (; answer.status === 503; answer = await event(key)) await sleep(20);
    return answer;
  };
  const stored = async (): Promise<number> =>
    (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

  test('are accepted at the start', async () => {
    await expect(acceptServers({ redisUrl: sentinel.url, databaseUrl: laurel.databaseUrl })).resolves.toBeUndefined();
  });

  test('lead to the new master after the old one died: events, queued batches and storage continue', async () => {
    for (let n = 0; n < 20; n += 1) expect((await insist(`before ${n}`)).status).toBe(201);
    await expect.poll(stored).toBe(20);

    await master.kill();
    expect((await event('over')).status).toBe(503);
    await expect.poll(async () => (await laurel.app.get('/readyz')).status).toBe(503);
    await sentinel.failover();
    await expect.poll(async () => (await event('over')).status).not.toBe(503);
    await expect.poll(async () => (await laurel.app.get('/readyz')).status).toBe(200);

    expect((await insist('before 3')).status).toBe(202);
    expect((await insist('after')).body.total).toBe(22);
    const batch = [{ key: 'flips', user: { id: 'eve' }, value: 1, idempotencyKey: 'batched' }];
    await expect.poll(async () => (await laurel.admin.post('/v1/metrics/events', batch)).status).toBe(202);
    // Woken over BullMQ's own connections, which had to find the new master too.
    await expect.poll(stored).toBe(23);
  });
});

describe('TLS', () => {
  test('without Sentinels, with its own certificate authority', async () => {
    const certificates = await makeCertificates();
    const own = await OwnRedis.start({}, { certificates, password: 'not-a-secret' });
    const laurel = await startLaurel({ configuration: STUDY_APP, redisUrl: own.url, workers: true });
    try {
      const { databaseUrl } = laurel;
      const event = { user: { id: 'ada' }, value: 1 };
      expect((await laurel.app.post('/v1/metrics/flips/event', event)).status).toBe(201);
      await expect
        .poll(async () => (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n)
        .toBe(1);
      const unknown = own.url.replace(/\?.*/, '');
      await expect(acceptServers({ redisUrl: unknown, databaseUrl })).rejects.toThrow(/certificate/);
      const unreadable = `${unknown}?ca=/not/there.pem`;
      await expect(acceptServers({ redisUrl: unreadable, databaseUrl })).rejects.toThrow(
        'The certificate authority of REDIS_URL (ca) cannot be read',
      );
    } finally {
      await laurel.close();
      await own.close();
      await certificates.remove();
    }
  });
});
