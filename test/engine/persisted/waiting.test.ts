import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createBackdatingEngine } from '../../../src/engine/backfills/backdating.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { createBoardFilling } from '../../../src/engine/backfills/board-filling.ts';
import { createRecomputing } from '../../../src/engine/recomputations/recomputation-job.ts';
import { CaughtUp } from '../../../src/engine/persist/caught-up-reads.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { readCursor } from '../../../src/postgres/shards.ts';
import { awaitedKey } from '../../../src/redis/keys.ts';
import { eventually } from '../../chaos/processes.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const shard = onlyPart(0).shard;
// Without workers: the test decides when the outbox is stored.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

const event = async (): Promise<void> => {
  const { status } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
  expect(status).toBe(201);
};

const store = async (): Promise<unknown> =>
  new Persister({ redis: laurel.redis, pool: laurel.pool }).drain(shard, AbortSignal.abort());

test('two hundred waiting reads read the cursor as often as one', async () => {
  await event();
  const { redis, pool } = laurel;
  await readCursor(pool, shard);
  let reads = 0;
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  pool.query = ((...args: unknown[]) => {
    if (JSON.stringify(args[0]).includes('FROM outbox_cursors WHERE shard')) reads += 1;
    return query(...args);
  }) as typeof pool.query;
  onTestFinished(() => void (pool.query = query as typeof pool.query));
  const caughtUp = new CaughtUp({ redis, pool, patience: { stillMs: 60_000, movingMs: 60_000 } });
  const beganMs = performance.now();
  const waiting = Promise.all(Array.from({ length: 200 }, () => caughtUp.tenant(0)));
  await eventually('the cursor is read several times', () => reads >= 5);
  await store();
  await waiting;
  // At most one each 100 ms; a few more when somebody comes in between.
  expect(reads).toBeLessThan((performance.now() - beganMs) / 100 + 50);
  expect(reads).toBeLessThan(1_000);
});

const ACHIEVEMENT = { name: 'New', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' };

/** Adds a resource to a list of the configuration. */
async function add(list: string, resource: object): Promise<void> {
  const { body: document } = await laurel.admin.get('/v1/configuration');
  const { status, body } = await laurel.admin.put('/v1/configuration', {
    ...document,
    [list]: [...(document[list] ?? []), resource],
  });
  expect({ status, body }).toMatchObject({ status: 200 });
}

test.each(['backdating', 'filling'])('%s waits for unstored events outside transactions', async (kind) => {
  const { redis, pool } = laurel;
  await laurel.pool.query(`UPDATE jobs SET status = 'done'`);
  await (kind === 'backdating'
    ? add('achievements', ACHIEVEMENT)
    : add('leaderboards', {
        key: 'new',
        name: 'New',
        metricKey: 'flips',
        rankBy: 'metric',
        start: '2026-01-01',
        status: 'active',
      }));
  await event();
  await redis.del(awaitedKey(shard));
  const options = { redis, pool, clock: systemClock, onWritten: () => undefined, minAgeMs: 0 };
  const work = kind === 'backdating' ? createBackdatingEngine(options) : createBoardFilling(options);
  const step = new JobRunner({ pool, works: [work] }).step();
  await eventually('it waits', async () => (await redis.exists(awaitedKey(shard))) === 1);
  // Others, such as the audit log, may have one for a moment.
  const idle = async (): Promise<unknown> =>
    (
      await pool.query(
        `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
      )
    ).rows;
  await expect.poll(idle).toEqual([]);
  await store();
  expect(await step).toBe(true);
});

test('jobs that wait long for unstored events do not fail, and go on afterwards', async () => {
  const { redis, pool } = laurel;
  await pool.query(`UPDATE jobs SET status = 'done'`);
  await add('achievements', { ...ACHIEVEMENT, name: 'Newer' });
  const { status } = await laurel.admin.post('/v1/recomputations', { what: ['achievements'], dryRun: true });
  expect(status).toBe(202);
  await event();

  const options = { redis, pool, clock: systemClock, onWritten: () => undefined, minAgeMs: 0 };
  const failures: unknown[] = [];
  const onFailed = (failure: unknown): void => void failures.push(failure);
  const runners = [createBackdatingEngine(options), createRecomputing(options)].map(
    (work) => new JobRunner({ pool, works: [work], onFailed }),
  );
  const step = (): Promise<boolean[]> => Promise.all(runners.map((runner) => runner.step()));
  const kinds = `kind IN ('backdating', 'recomputation_planning')`;
  const jobs = async (): Promise<unknown[]> =>
    (
      await pool.query(
        `SELECT kind, status, attempts, error FROM jobs WHERE ${kinds} AND status <> 'done' ORDER BY kind`,
      )
    ).rows;
  // Until their patience ends.
  expect(await step()).toEqual([true, true]);
  expect(failures).toEqual([]);
  expect(await jobs()).toEqual([
    { kind: 'backdating', status: 'waiting', attempts: 0, error: null },
    { kind: 'recomputation_planning', status: 'waiting', attempts: 0, error: null },
  ]);

  await store();
  await expect.poll(async () => (await step(), jobs())).toEqual([]);
  expect(failures).toEqual([]);
});
