import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PersistStep } from '../../src/engine/persist/persister.ts';
import { verify } from '../../src/engine/rebuild/verify.ts';
import type { MergeMoment } from '../../src/engine/users/user-merges.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';

// The frontend that merges two users and the worker that stores the merge are killed, while events of both users arrive.

let laurel: TestLaurel;
let redis: TestLaurel['redis'];
let worker: ChildProcess;
const processes = new DyingWorkers();
beforeAll(async () => {
  laurel = await startLaurel({
    spread: 1,
    configuration: {
      metrics: [{ key: 'm', name: 'M' }],
      pointsSystems: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' }],
        },
      ],
    },
  });
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['user.merged'] };
  await laurel.admin.post('/v1/webhooks?strict=true', [hook]);
  redis = await laurel.connect();
  worker = processes.start(laurel);
  await once(worker, 'message');
});
afterAll(async () => {
  processes.close();
  redis.disconnect();
  await laurel.close();
});

/** Repeated until it is answered. */
async function send(id: string, key: string): Promise<number> {
  for (;;) {
    const headers = { 'Idempotency-Key': key };
    const { status } = await laurel.app.post('/v1/metrics/m/event', { user: { id }, value: 1 }, { headers });
    if (status !== 503) return status;
    await sleep(10);
  }
}

const rows = async (sql: string, ...values: unknown[]): Promise<unknown[]> =>
  (await laurel.pool.query(sql, values)).rows;

const DEATHS: [MergeMoment, PersistStep][] = [
  ['noted', 'read'],
  ['computed', 'written'],
  ['committed', 'written'],
  ['committed', 'committed'],
];

test.each(DEATHS)('a frontend killed when a merge is %s, and a worker when its batch is %s', async (moment, step) => {
  const [from, into] = [`${moment}-${step}-guest`, `${moment}-${step}-account`];
  for (const id of [from, into]) expect(await send(id, `${id} first`)).toBe(201);
  const asked = { from, into, acrossControlGroup: true };
  const dying = await processes.startFrontend(laurel, `merge ${moment}`);
  const frontendEnds = once(dying.child, 'exit');
  await processes.dieAt(worker, step, 1);
  const workerEnds = once(worker, 'exit');
  const merging = fetch(`${dying.adminUrl}/v1/users/merge`, {
    method: 'POST',
    headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(asked),
  });
  await expect(merging).rejects.toThrow();
  expect(await frontendEnds).toEqual([null, 'SIGKILL']);
  // Used once under either ID, whether the users are merged by now or not.
  let counted = 2;
  const both = async (key: string): Promise<void> => {
    expect(await send(from, key)).toBe(201);
    counted += 1;
    if ((await send(into, key)) === 201) counted += 1;
  };
  await both('between');
  expect(await workerEnds).toEqual([null, 'SIGKILL']);
  worker = processes.start(laurel);
  await once(worker, 'message');
  await expect
    .poll(async () => (await laurel.admin.post('/v1/users/merge', asked)).body.status, { timeout: 30_000 })
    .toBe(moment === 'committed' ? 'unchanged' : 'merged');
  expect((await laurel.admin.post('/v1/users/merge', asked)).body.status).toBe('unchanged');
  await both('after');
  expect((await laurel.app.get(`/v1/users/${from}/metrics/m`)).body.current).toBe(counted);
  expect((await laurel.app.get(`/v1/users/${into}/points/xp`)).body.total).toBe(2 * counted);
  await expect
    .poll(() =>
      rows('SELECT user_id AS id, count(*)::int AS n FROM events WHERE user_id = ANY ($1) GROUP BY 1', [from, into]),
    )
    .toEqual([{ id: into, n: counted }]);
  const reported = `SELECT payload::jsonb -> 'merge' ->> 'from' AS "from" FROM webhook_messages WHERE user_id = $1`;
  expect(await rows(reported, into)).toEqual([{ from }]);
  const found: unknown[] = [];
  await verify({ redis, pool: laurel.pool, onDifference: (each) => found.push(each) });
  expect(found).toEqual([]);
});
