import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { PersistStep } from '../../src/engine/persist/persister.ts';
import type { ClaimMoment } from '../../src/engine/rewards/claims.ts';
import { startLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';
import { differencesIn } from '../differences.ts';
import { exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

// The frontend that claims a reward and the worker that stores the spending are killed. One claim of each test is the last of the stock.

const PRICE = 10;
const DEATHS: [ClaimMoment, PersistStep][] = [
  ['reserved', 'read'],
  ['spent', 'written'],
  ['spent', 'committed'],
  ['stored', 'trimmed'],
];

let worker: ChildProcess | undefined;
const processes = new DyingWorkers();
const rewardOf = (moment: ClaimMoment, step: PersistStep): string => `${moment}-${step}`;
const laurel = opened(() =>
  startLaurel({
    configuration: {
      metrics: [{ key: 'work', name: 'Work' }],
      pointsSystems: [
        {
          key: 'coins',
          name: 'Coins',
          triggers: [{ type: 'metric', metricKey: 'work', metricThreshold: 1, status: 'active', points: 1 }],
        },
      ],
      rewards: DEATHS.map(([moment, step]) => {
        const key = rewardOf(moment, step);
        return { key, name: key, pointsSystemKey: 'coins', price: PRICE, status: 'active', stock: 1 };
      }),
    },
  }),
);
const redis = opened(() => laurel.connect(), 'disconnect');
beforeAll(async () => {
  await startWorker();
});
afterEach(async ({ task }) => {
  // The one of a case that failed has ended or is to die.
  if (task.result?.state === 'fail') await startWorker();
});
afterAll(async () => {
  processes.close();
});

async function startWorker(): Promise<void> {
  worker?.kill('SIGKILL');
  worker = processes.start(laurel);
  await messageOf(worker);
}

const claim = (userId: string, reward: string, key: string) =>
  laurel.app.post(`/v1/rewards/${reward}/claim`, { userId }, { headers: { 'Idempotency-Key': key } });
/** A user who never spent anything has no balance beside the total. */
const balanceOf = async (id: string): Promise<number> => {
  const { body } = await laurel.app.get(`/v1/users/${id}/points/coins`);
  return body.balance ?? body.total;
};

test.each(DEATHS)('a frontend killed when a claim is %s, and a worker when a batch is %s', async (moment, step) => {
  const reward = rewardOf(moment, step);
  const [user, late] = [`${reward}-user`, `${reward}-late`];
  for (const id of [user, late]) await laurel.app.post('/v1/metrics/work/event', { user: { id }, value: 2 * PRICE });
  await laurel.app.get(`/v1/users/${late}/points/coins/awards`);
  const dying = await processes.startFrontend(laurel, `claim ${moment}`);
  // A spending that is not stored keeps the frontend waiting, so the worker must live until "stored".
  if (moment !== 'stored') await processes.dieAt(worker!, step, 1);
  const claiming = fetch(`${dying.appUrl}/v1/rewards/${reward}/claim`, {
    method: 'POST',
    headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json', 'Idempotency-Key': 'once' },
    body: JSON.stringify({ userId: user }),
  });
  await expect(claiming).rejects.toThrow();
  expect(await exitOf(dying.child)).toEqual([null, 'SIGKILL']);
  if (moment === 'stored') await processes.dieAt(worker!, step, 1);
  // The stock is taken, paid or not: the late user must not get it, even while processes are dead.
  expect((await claim(late, reward, 'late')).body.code ?? null).toBe('sold_out');
  await laurel.app.post('/v1/metrics/work/event', { user: { id: late }, value: 1 });
  expect(await exitOf(worker!)).toEqual([null, 'SIGKILL']);
  await startWorker();

  const answers = [];
  for (let n = 0; n < 2; n += 1) {
    let answer = await claim(user, reward, 'once');
    for (; answer.status === 503; answer = await claim(user, reward, 'once')) await sleep(50);
    answers.push(answer.body);
  }
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[0]).toMatchObject({ userId: user, state: 'claimed', price: PRICE });
  expect([await balanceOf(user), await balanceOf(late)]).toEqual([PRICE, 2 * PRICE + 1]);
  expect((await claim(late, reward, 'late')).status).toBe(409);
  const { rows } = await laurel.pool.query(
    `SELECT claimed::int, (SELECT count(*)::int FROM reward_claims AS claim WHERE claim.reward_no = counted.reward_no) AS claims
       FROM reward_counts AS counted JOIN catalog_resources ON no = reward_no WHERE doc ->> 'key' = $1`,
    [reward],
  );
  expect(rows).toEqual([{ claimed: 1, claims: 1 }]);
  expect(await differencesIn({ redis, pool: laurel.pool })).toEqual([]);
});
