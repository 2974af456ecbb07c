import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { whileWhole } from '../../../src/engine/persist/cursor-wait.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createConverting } from '../../../src/engine/rebuild/conversion.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import type { MergeStep } from '../../../src/engine/users/merge-changes.ts';
import { createMergeEnding } from '../../../src/engine/users/merge-ending.ts';
import type { MergeMoment, UserMerges } from '../../../src/engine/users/user-merges.ts';
import { RedisNotReady } from '../../../src/redis/gate.ts';
import { mergesHeldKey } from '../../../src/redis/keys.ts';
import { areMergesHeld } from '../../../src/redis/merge-permits.ts';
import { knownPart, knownParts } from '../../../src/redis/parts.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

// A merge across shards happens once or not at all, whatever stops between two steps. No worker runs: the test does each step.

const CONFIGURATION: Configuration = {
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily' },
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
    },
  ],
  leaderboards: [
    {
      start: '2026-01-01',
      status: 'active',
      key: 'sum',
      name: 'Sum',
      rankBy: 'metric',
      metricKey: 'm',
      breakdownAttributes: ['land'],
    },
  ],
};

let redis: TestLaurel['redis'];
const laurel = opened(() => startLaurel({ configuration: CONFIGURATION, spread: 4 }));
beforeAll(async () => {
  redis = await laurel.connect();
  // Nobody fills the leaderboards, as no worker runs.
  await laurel.pool.query(`DELETE FROM jobs`);
});

/** Stores what waits. */
async function persist(): Promise<void> {
  const persister = new Persister({ redis: laurel.redis, pool: laurel.pool });
  for (const { shard } of knownParts(laurel.redis, 0)) await persister.drain(shard, AbortSignal.abort());
}

/** Does a slice of each job; stops at a step if one is named, as a worker does that dies. */
async function work(stop?: MergeStep): Promise<void> {
  const options = {
    redis: laurel.redis,
    pool: laurel.pool,
    clock: systemClock,
    onWritten: () => undefined,
    onMergeStep: async (step: MergeStep) => {
      if (step === stop) throw new Error('ended here');
      // The persisters of other processes go on.
      await persist();
    },
  };
  const { pool } = laurel;
  const announce = async (): Promise<void> => undefined;
  const converting = createConverting({ redis: laurel.redis, pool, onUnreadable: () => undefined, announce });
  const runner = new JobRunner({ pool, works: [createMergeEnding(options), converting] });
  await pool.query('UPDATE jobs SET due = clock_timestamp()');
  // While Redis gets new marks, it is refused.
  while (await runner.step().catch(() => sleep(50).then(() => false)));
}

/** Works until no job is left. */
async function finish(): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    await persist();
    if ((await laurel.pool.query(`SELECT FROM jobs WHERE status IN ('waiting', 'running')`)).rowCount === 0) return;
    await work();
  }
  throw new Error('The jobs do not end.');
}

const send = (id: string, value: number, key: string, user: object = {}) =>
  laurel.app.post('/v1/metrics/m/event', { user: { id, ...user }, value }, { headers: { 'Idempotency-Key': key } });

const ask = (from: string, into: string) =>
  laurel.admin.post('/v1/users/merge', { from, into, acrossControlGroup: true });

const differences = () => differencesIn({ redis, pool: laurel.pool });

const totalOf = async (id: string): Promise<number> => (await laurel.app.get(`/v1/users/${id}/metrics/m`)).body.current;

const partOf = (id: string): number => knownPart(laurel.redis, 0, id).shard;

async function pair(name: string): Promise<[from: string, into: string]> {
  const from = `${name}-from`;
  let n = 0;
  while (partOf(`${name}-into${n}`) === partOf(from)) n += 1;
  const into = `${name}-into${n}`;
  await send(from, 3, 'a', { attributes: { land: 'fr' } });
  await send(into, 4, 'b', { attributes: { land: 'de' } });
  await persist();
  return [from, into];
}

/** Begins a merge in a process that ends once the user is sealed, or earlier. */
async function seal(from: string, into: string, stop: MergeMoment = 'sealed'): Promise<void> {
  const { merges, catalogs } = laurel.services;
  const options = (merges as unknown as { options: ConstructorParameters<typeof UserMerges>[0] }).options;
  const before = options.onMoment;
  options.onMoment = (moment) => {
    if (moment === stop) throw new Error('ended here');
  };
  const by = { who: 'test', address: null, requestId: null };
  const asked = { from, into, acrossControlGroup: true };
  await expect(merges.merge(await catalogs.of(0), asked, by)).rejects.toThrow('ended here');
  if (before === undefined) delete options.onMoment;
  else options.onMoment = before;
}

/** Repeats the request while workers work. */
async function merge(from: string, into: string): Promise<{ status: string }> {
  for (;;) {
    const asking = ask(from, into);
    let isOver = false;
    void asking.finally(() => (isOver = true));
    while (!isOver) {
      await persist();
      await work();
      await sleep(10);
    }
    const { status, body } = await asking;
    if (status !== 503) return body;
  }
}

async function expectMerged(from: string, into: string): Promise<void> {
  expect([await totalOf(into), await totalOf(from)]).toEqual([7, 7]);
  expect((await laurel.app.get(`/v1/users/${from}`)).body.id).toBe(into);
  for (const id of [from, into])
    for (const key of ['a', 'b'])
      expect((await send(id, 9, key)).body).toMatchObject({ total: 7, idempotentReplayed: true });
  const { rows } = await laurel.pool.query(
    'SELECT user_id AS id, sum(value)::int AS sum FROM events WHERE user_id = ANY ($1) GROUP BY 1',
    [[from, into]],
  );
  expect(rows).toEqual([{ id: into, sum: 7 }]);
  expect((await laurel.pool.query('SELECT FROM user_merges WHERE old_id = $1', [from])).rowCount).toBe(1);
  expect(await differences()).toEqual([]);
}

test.each<MergeMoment>(['noted', 'permitted'])('a frontend that stops after "%s" has changed nothing', async (stop) => {
  const [from, into] = await pair(`stop-${stop}`);
  await seal(from, into, stop);
  await finish();
  expect([await totalOf(from), await totalOf(into)]).toEqual([3, 4]);
  expect((await send(from, 0, 'c')).status).toBe(201);
  expect((await merge(from, into)).status).toBe('merged');
  await expectMerged(from, into);
});

test('a sealed user waits, the other goes on, and workers end the merge by themselves', async () => {
  const [from, into] = await pair('sealed');
  await seal(from, into);
  await persist();
  const statuses = [
    await send(from, 1, 'c'),
    await laurel.app.patch(`/v1/users/${from}`, { name: 'X' }),
    await laurel.app.post(`/v1/users/${from}/points/xp/spend`, { amount: 1 }, { headers: { 'Idempotency-Key': 's' } }),
    await laurel.admin.delete(`/v1/users/${from}`),
    await ask(from, into),
    await ask(into, from),
  ].map(({ status }) => status);
  expect(statuses).toEqual([503, 503, 503, 503, 503, 503]);
  expect((await send(from, 1, 'd')).headers.get('retry-after')).not.toBeNull();
  expect((await send(into, 0, 'c')).status).toBe(201);
  // Reads and replays are answered as before.
  expect(await totalOf(from)).toBe(3);
  expect((await send(from, 9, 'a')).body).toMatchObject({ total: 3, idempotentReplayed: true });
  await finish();
  await expectMerged(from, into);
  expect((await ask(from, into)).body).toMatchObject({ status: 'unchanged', metrics: { m: { from: 3, merged: 7 } } });
});

test.each<MergeStep>(['transferred', 'unsealed'])('a worker that stops after "%s"', async (stop) => {
  const [from, into] = await pair(`worker-${stop}`);
  await seal(from, into);
  await persist();
  await work(stop);
  expect((await send(from, 9, stop === 'transferred' ? 'c' : 'a')).status).toBe(stop === 'transferred' ? 503 : 202);
  await finish();
  await expectMerged(from, into);
});

test('a copy of rankings waits for the merge, and no other begins meanwhile', async () => {
  const [from, into] = await pair('copied');
  await seal(from, into);
  await persist();
  const at = { redis: laurel.redis, tenantNo: 0 };
  const boards = async (): Promise<string[]> => {
    const [fr, de] = await Promise.all(
      ['fr', 'de'].map((land) => laurel.app.get(`/v1/leaderboards/sum?limit=100&userAttributes=land:${land}`)),
    );
    return [...fr!.body.rankings, ...de!.body.rankings].map(({ userId }) => userId);
  };
  const copying = whileWhole(laurel.pool, at, boards);
  await expect.poll(() => areMergesHeld(laurel.redis, 0)).toBe(true);
  const others = await pair('meanwhile');
  expect((await ask(...others)).body.error).toBe('Rankings are being copied; try again in a moment.');
  await finish();
  const names = await copying;
  expect([names.includes(from), names.includes(into)]).toEqual([false, true]);
  // One that does not end is not waited for.
  await redis.del(mergesHeldKey(knownParts(laurel.redis, 0)[0]!));
  await seal(...others);
  await persist();
  await expect(whileWhole(laurel.pool, at, boards)).rejects.toThrow(RedisNotReady);
  await finish();
  await redis.del(mergesHeldKey(knownParts(laurel.redis, 0)[0]!));
});

test('two workers that do the same steps at once merge once', async () => {
  const [from, into] = await pair('twice');
  await seal(from, into);
  await persist();
  const { rows } = await laurel.pool.query(
    `SELECT id::text, tenant_no AS "tenantNo", attempts, result, parameters FROM jobs WHERE kind = 'user_merge'`,
  );
  const options = { redis: laurel.redis, pool: laurel.pool, clock: systemClock, onWritten: () => undefined };
  const slices = Array.from({ length: 4 }, () =>
    createMergeEnding({ ...options, onMergeStep: persist })
      .slice(rows[0], () => Promise.resolve(false))
      .catch(() => undefined),
  );
  await Promise.all(slices);
  await finish();
  await expectMerged(from, into);
  const { rows: entries } = await laurel.pool.query(`SELECT count(*)::int AS n FROM user_merges WHERE old_id = $1`, [
    from,
  ]);
  expect(entries).toEqual([{ n: 1 }]);
});

test('the other user is deleted after the seal: the merge is given up, and the old user goes on', async () => {
  const [from, into] = await pair('deleted');
  await seal(from, into);
  expect((await laurel.admin.delete(`/v1/users/${into}`)).status).toBe(200);
  await persist();
  await work('revoked');
  expect((await send(from, 1, 'c')).status).toBe(503);
  await finish();
  expect((await send(from, 1, 'c')).body).toMatchObject({ total: 4 });
  await persist();
  expect((await ask(from, into)).status).toBe(404);
  await persist();
  expect(await differences()).toEqual([]);
});

test('the other user is deleted after the transfer: all of both is deleted', async () => {
  const [from, into] = await pair('deleted-late');
  await seal(from, into);
  await persist();
  await work('transferred');
  expect((await laurel.admin.delete(`/v1/users/${into}`)).status).toBe(200);
  await finish();
  for (const id of [from, into]) expect((await laurel.app.get(`/v1/users/${id}`)).status).toBe(404);
  expect((await send(from, 2, 'a')).body).toMatchObject({ total: 2, idempotentReplayed: false });
  await persist();
  expect(await differences()).toEqual([]);
});

test('two merges that would wait for each other are given up', async () => {
  const [from, into] = await pair('mutual');
  await Promise.all([seal(from, into), seal(into, from)].map((each) => each.catch(() => undefined)));
  await finish();
  expect((await totalOf(from)) + (await totalOf(into))).toBeGreaterThanOrEqual(7);
  const name = (await laurel.app.get(`/v1/users/${from}`)).body.id;
  const isMerged = name !== from || (await laurel.app.get(`/v1/users/${into}`)).body.id !== into;
  if (!isMerged) {
    expect((await send(from, 0, 'c')).status).toBe(201);
    expect((await send(into, 0, 'c')).status).toBe(201);
    expect((await merge(from, into)).status).toBe('merged');
    await expectMerged(from, into);
  }
  expect(await differences()).toEqual([]);
});

test.each<'sealed' | MergeStep | 'moved'>(['sealed', 'transferred', 'moved'])(
  'Redis is lost when the merge is "%s"',
  async (moment) => {
    const [from, into] = await pair(`lost-${moment}`);
    await seal(from, into);
    await persist();
    if (moment !== 'sealed') await work('transferred');
    if (moment === 'moved') await persist();
    await emptyRedis(redis);
    await rebuildByHand(laurel, redis);
    await expect.poll(async () => (await laurel.app.get(`/v1/users/${into}`)).status).toBe(200);
    await finish();
    // Without its permit, the merge is given up.
    if (moment !== 'moved') {
      expect([await totalOf(from), await totalOf(into)]).toEqual([3, 4]);
      expect((await send(from, 0, 'c')).status).toBe(201);
      expect((await merge(from, into)).status).toBe('merged');
    }
    await expectMerged(from, into);
  },
);

test('the tenant is spread over other shards while a user is sealed', async () => {
  const [from, into] = await pair('spread');
  await seal(from, into);
  expect((await laurel.admin.put('/v1/spread', { shards: 1 })).status).toBe(202);
  await finish();
  await expect.poll(async () => (await laurel.app.get(`/v1/users/${into}`)).status).toBe(200);
  expect(partOf(from)).toBe(partOf(into));
  await expectMerged(from, into);
});
