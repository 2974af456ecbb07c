import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { UserMerge } from '../../../src/domain/administration/merge.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { type PersistStep, Persister } from '../../../src/engine/persist/persister.ts';
import { type MergeMoment, UserMerges } from '../../../src/engine/users/user-merges.ts';
import { knownPart, knownParts } from '../../../src/redis/parts.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

type MergesOptions = ConstructorParameters<typeof UserMerges>[0];

// A merge happens once: whichever process stops between two steps, however many events arrive meanwhile, and after Redis is lost.

const BOARD = { start: '2026-01-01', status: 'active' } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'guarded', name: 'Guarded', guards: { maxValue: { limit: 10, action: 'quarantine' } } },
  ],
  streaks: { enabled: true, frequency: 'daily' },
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
    },
  ],
  leaderboards: [
    { ...BOARD, key: 'sum', name: 'Sum', rankBy: 'metric', metricKey: 'm', breakdownAttributes: ['land'] },
    { ...BOARD, key: 'best', name: 'Best', rankBy: 'metric', metricKey: 'm', aggregate: 'max', ties: 'first' },
    { ...BOARD, key: 'points', name: 'Points', rankBy: 'points', pointsSystemKey: 'xp', teamAttributeKey: 'land' },
    { ...BOARD, key: 'days', name: 'Days', rankBy: 'streak' },
  ],
};

let redis: TestLaurel['redis'];
const laurel = opened(() => startLaurel({ configuration: CONFIGURATION, spread: 1 }));
beforeAll(async () => {
  redis = await laurel.connect();
  // Nobody fills the leaderboards, as no worker runs.
  await laurel.pool.query(`DELETE FROM jobs`);
});

const shard = (): number => knownParts(laurel.redis, 0)[0]!.shard;

/** Stores what waits; stops at a step if one is named. */
async function persist(stop?: PersistStep): Promise<void> {
  const persister = new Persister({
    redis: laurel.redis,
    pool: laurel.pool,
    onStep: (step) => {
      if (step === stop) throw new Error('ended here');
    },
  });
  const drained = persister.drain(shard());
  if (stop === undefined) await drained;
  else await expect(drained).rejects.toThrow('ended here');
}

/**
 * Stores again and again while something happens. One pass at a time: two that meet each leave the rest to the other, so that the
 * test would look before everything is stored.
 */
async function whileStoring<Result>(work: () => Promise<Result>): Promise<Result> {
  let isOver = false;
  const storing = (async (): Promise<void> => {
    for (; !isOver; await sleep(10)) await persist();
  })();
  try {
    return await work();
  } finally {
    isOver = true;
    await storing;
  }
}

const send = (app: TestLaurel['app'], id: string, value: number, key: string, user: object = {}) =>
  app.post('/v1/metrics/m/event', { user: { id, ...user }, value }, { headers: { 'Idempotency-Key': key } });

const ask = (from: string, into: string) =>
  laurel.admin.post('/v1/users/merge', { from, into, acrossControlGroup: true });

const differences = () => differencesIn({ redis, pool: laurel.pool });

async function pair(name: string): Promise<[from: string, into: string]> {
  await send(laurel.app, `${name}-from`, 3, 'a', { attributes: { land: 'fr' } });
  await send(laurel.app, `${name}-into`, 4, 'b', { attributes: { land: 'de' } });
  await persist();
  return [`${name}-from`, `${name}-into`];
}

const totalOf = async (id: string): Promise<number> => (await laurel.app.get(`/v1/users/${id}/metrics/m`)).body.current;

/** A merge at a process that does something at each moment. */
function mergeWith(onMoment: NonNullable<MergesOptions['onMoment']>) {
  const { merges, catalogs } = laurel.services;
  const own = new UserMerges({ ...(merges as unknown as { options: MergesOptions }).options, onMoment });
  const by = { who: 'test', address: null, requestId: null };
  return async (from: string, into: string): Promise<UserMerge> =>
    own.merge(await catalogs.of(0), { from, into, acrossControlGroup: true }, by);
}

test.each<MergeMoment>(['noted', 'computed', 'committed'])('a process that stops after "%s"', async (stop) => {
  const [from, into] = await pair(`stop-${stop}`);
  const merge = mergeWith((moment) => {
    if (moment === stop) throw new Error('ended here');
  });
  await expect(merge(from, into)).rejects.toThrow('ended here');
  await persist();
  expect(await totalOf(into)).toBe(stop === 'committed' ? 7 : 4);
  expect((await ask(from, into)).body).toMatchObject({
    status: stop === 'committed' ? 'unchanged' : 'merged',
    metrics: { m: { from: 3, into: 4, merged: 7 } },
  });
  await persist();
  expect([await totalOf(into), await totalOf(from)]).toEqual([7, 7]);
  expect(await differences()).toEqual([]);
});

test.each<PersistStep>(['read', 'written', 'committed'])('a worker that stops after "%s"', async (stop) => {
  const [from, into] = await pair(`worker-${stop}`);
  expect((await ask(from, into)).body).toMatchObject({ status: 'merged', metrics: { m: { merged: 7 } } });
  await persist(stop);
  await persist();
  const { rows } = await laurel.pool.query(
    'SELECT user_id AS id, sum(value)::int AS sum FROM events WHERE user_id = ANY ($1) GROUP BY 1',
    [[from, into]],
  );
  expect(rows).toEqual([{ id: into, sum: 7 }]);
  expect((await send(laurel.app, from, 1, 'a')).body).toMatchObject({ total: 7, idempotentReplayed: true });
  expect(await differences()).toEqual([]);
});

test('events of both users in any number of processes are counted once, and none is lost', async () => {
  const other = await laurel.another();
  const [from, into] = ['busy-guest', 'busy-account'];
  await send(laurel.app, from, 1, 'first-from');
  await send(laurel.app, into, 1, 'first-into');
  let merged = false;
  let sent = 2;
  // Answered as a replay after a try that may have been applied, because the connection was lost: counted once or not at all.
  let unclear = 0;
  const sender = async (app: TestLaurel['app'], id: string, name: string): Promise<void> => {
    for (let n = 0; n < 40 || !merged; n += 1) {
      // Each is sent twice, the second time under either ID.
      const key = `${name}-${n}`;
      for (const each of [id, n % 2 === 0 ? from : into]) {
        let answer = await send(app, each, 1, key);
        let isUnclear = false;
        for (; answer.status === 503; answer = await send(app, each, 1, key)) {
          isUnclear ||= /does not answer/.test(answer.body.error as string);
          await sleep(5);
        }
        expect([201, 202]).toContain(answer.status);
        if (answer.status === 201) sent += 1;
        else if (isUnclear) unclear += 1;
      }
      await sleep(20);
    }
  };
  const merging = async (): Promise<void> => {
    await sleep(200);
    let answer = await ask(from, into);
    for (; answer.status === 503; answer = await ask(from, into)) await sleep(20);
    merged = true;
    expect(answer.body).toMatchObject({ into });
  };
  await whileStoring(() =>
    Promise.all([
      sender(laurel.app, from, 'w'),
      sender(other.app, from, 'x'),
      sender(laurel.app, into, 'y'),
      sender(other.app, into, 'z'),
      merging(),
    ]),
  );
  await persist();
  const total = await totalOf(into);
  expect(total).toBeGreaterThanOrEqual(sent);
  expect(total).toBeLessThanOrEqual(sent + unclear);
  const { rows } = await laurel.pool.query(
    'SELECT user_id AS id, sum(value)::int AS sum FROM events WHERE user_id = ANY ($1) GROUP BY 1',
    [[from, into]],
  );
  expect(rows).toEqual([{ id: into, sum: total }]);
  expect(await differences()).toEqual([]);
  await other.close();
});

test('both users have an event in quarantine with the same key: it stays that of the remaining user', async () => {
  const [from, into] = await pair('same-quarantined');
  for (const id of [into, from, into, from]) {
    const headers = { 'Idempotency-Key': 'same' };
    const body = { user: { id }, value: 11 };
    expect((await laurel.app.post('/v1/metrics/guarded/event', body, { headers })).status).toBe(202);
    await sleep(2);
  }
  await persist();
  expect((await ask(from, into)).body.status).toBe('merged');
  await persist();
  expect(await differences()).toEqual([]);
  const { events } = (await laurel.admin.get(`/v1/quarantine?userId=${into}`)).body;
  expect(events).toHaveLength(2);
  // A release waits for what is stored.
  await whileStoring(async () => {
    for (const { id } of events)
      expect((await laurel.admin.post(`/v1/quarantine/${id}/release`, undefined)).status).toBe(200);
  });
  await persist();
  expect(await differences()).toEqual([]);
});

test('many requests for one merge at once make one', async () => {
  const [from, into] = await pair('twice');
  const untilDone = async () => {
    for (;;) {
      const answer = await ask(from, into);
      if (answer.status !== 503) return answer;
      await sleep(20);
    }
  };
  const answers = await whileStoring(() => Promise.all(Array.from({ length: 8 }, untilDone)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  await persist();
  expect(await totalOf(into)).toBe(7);
  expect(await differences()).toEqual([]);
});

test('a request that another overtakes gets the answer of the other', async () => {
  const [from, into] = await pair('overtaken');
  const merge = mergeWith(async (moment) => {
    if (moment !== 'noted') return;
    expect((await ask(from, into)).body.status).toBe('merged');
    await persist();
  });
  expect(await merge(from, into)).toMatchObject({ status: 'unchanged', metrics: { m: { merged: 7 } } });
  expect(await totalOf(into)).toBe(7);
});

test('a lost Redis comes back with the old IDs and all used keys, also in the compact form', async () => {
  const [from, into] = await pair('lost');
  expect((await ask(from, into)).status).toBe(200);
  await persist();
  for (const beforeMs of [0, Date.now() + 60_000]) {
    await laurel.pool.query('UPDATE key_ageing SET before_ms = $1', [beforeMs]);
    await emptyRedis(redis);
    await rebuildByHand(laurel, redis);
    await expect.poll(async () => (await laurel.app.get(`/v1/users/${from}`)).status).toBe(200);
    expect((await laurel.app.get(`/v1/users/${from}`)).body.id).toBe(into);
    for (const [id, key] of [
      [from, 'a'],
      [into, 'a'],
      [from, 'b'],
      [into, 'b'],
    ] as const)
      expect((await send(laurel.app, id, 9, key)).body).toMatchObject({ total: 7, idempotentReplayed: true });
    expect(await differences()).toEqual([]);
  }
  await laurel.pool.query('UPDATE key_ageing SET before_ms = 0');
});

test('a tenant of several parts merges users of one part and of two', async () => {
  const wide = await startLaurel({ configuration: { metrics: [{ key: 'm', name: 'M' }] }, spread: 4, workers: true });
  try {
    const partOf = (id: string): number => knownPart(wide.redis, 0, id).shard;
    const ids = Array.from({ length: 40 }, (_, n) => `u${n}`);
    const [from, ...others] = ids as [string, ...string[]];
    const into = others.find((id) => partOf(id) === partOf(from))!;
    const elsewhere = others.find((id) => partOf(id) !== partOf(from))!;
    for (const id of [from, into, elsewhere]) expect((await send(wide.app, id, 2, 'k')).status).toBe(201);
    const merged = await wide.admin.post('/v1/users/merge', { from, into, acrossControlGroup: true });
    expect(merged.body).toMatchObject({ metrics: { m: { merged: 4 } } });
    expect((await send(wide.app, from, 1, 'next')).body).toMatchObject({ total: 5 });
    expect((await wide.app.get(`/v1/users/${from}`)).body.id).toBe(into);
    const across = await wide.admin.post('/v1/users/merge', { from: into, into: elsewhere, acrossControlGroup: true });
    expect(across.body).toMatchObject({ metrics: { m: { from: 5, into: 2, merged: 7 } } });
    for (const id of [from, into]) expect((await wide.app.get(`/v1/users/${id}`)).body.id).toBe(elsewhere);
    const bare = await wide.connect();
    const found = await differencesIn({ redis: bare, pool: wide.pool });
    bare.disconnect();
    expect(found).toEqual([]);
  } finally {
    await wide.close();
  }
});
