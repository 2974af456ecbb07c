import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { emptyRedis } from '../stack/all-servers.ts';
import { STUDY_APP } from '../study-app.ts';
import { runCli, type Ended } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

// `npx laurel verify` and `npx laurel rebuild` in their own processes, beside a running Laurel.
const TIMEOUT_MS = 120_000;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  for (let n = 0; n < 8; n += 1) await event(n);
});

async function event(n: number): Promise<number> {
  const { status } = await laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: `user ${n % 4}`, attributes: { plan: 'pro' } }, value: 2.5 },
    { headers: { 'Idempotency-Key': `key ${n}` } },
  );
  return status;
}

const run = (command: string, variables: Record<string, string> = {}): Promise<Ended> =>
  runCli(command.split(' '), { REDIS_URL: laurel.redisUrl, DATABASE_URL: laurel.databaseUrl, ...variables });

test(
  'verify reports nothing, then planted differences by name; a rebuild repairs them',
  { timeout: 4 * TIMEOUT_MS },
  async () => {
    expect(await run('verify')).toMatchObject({ code: 0, out: expect.stringContaining('No differences.') });
    const [key] = await laurel.redis.keys('{s0}:0:b:*');
    await laurel.redis.zadd(key!, 7, 'stranger');
    await laurel.redis.del('{s0}:0:u:user 3');

    const { code, out } = await run('verify');
    expect(code).toBe(1);
    expect(out).toContain(`${key}  stranger\n  Redis:    7\n  Postgres: nothing\n`);
    expect(out).toContain('{s0}:0:u:user 3\n  Redis:    nothing\n');
    expect(out).toContain('2 differences; `laurel rebuild` corrects them.');
    expect(await run('verify --shard 1')).toMatchObject({ code: 0 });
    expect(await run('rebuild --shard 1')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Shard 1 is rebuilt'),
    });
    expect((await run('rebuild --shard 256')).err).toContain('It must be a whole number from 0 to 255.');

    expect(await run('rebuild')).toMatchObject({ code: 0, out: expect.stringMatching(/Redis is rebuilt, in \d/) });
    expect(await run('verify')).toMatchObject({ code: 0 });
  },
);

test(
  'after FLUSHALL and a rebuild, the running Laurel continues where it was',
  { timeout: 4 * TIMEOUT_MS },
  async () => {
    await emptyRedis(laurel.redis);
    // The running Laurel notices as well. If it is first, the command waits for it or rebuilds again.
    const { code, out, err } = await run('rebuild');
    expect([code, err.includes('Error')]).toEqual([0, false]);
    expect(out).toContain('Redis is rebuilt');
    await expect.poll(() => event(3)).toBe(202);
    expect(await event(100)).toBe(201);
    expect((await laurel.app.get('/v1/users/user 0/metrics/flips')).body.current).toBe(7.5);
    expect(await run('verify')).toMatchObject({ code: 0 });
  },
);

test(
  'does not touch the Redis of another Laurel, and reports unreachable servers',
  { timeout: 4 * TIMEOUT_MS },
  async () => {
    const other = await startLaurel();
    try {
      const { code, err } = await run('rebuild', { DATABASE_URL: other.databaseUrl });
      expect([code, err]).toEqual([2, expect.stringContaining('This Redis holds the data of another Laurel')]);
    } finally {
      await other.close();
    }
    expect(await event(101)).toBe(201);
    const nobody = laurel.redisUrl.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:1');
    expect(await run('verify', { REDIS_URL: nobody })).toEqual({
      code: 2,
      out: '',
      err: 'Redis did not answer within 10 s. REDIS_URL says where it is.\n',
    });
    const nowhere = await run('verify', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    expect(nowhere).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^Postgres cannot be asked .*\n$/) });
  },
);
