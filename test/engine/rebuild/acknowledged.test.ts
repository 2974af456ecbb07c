import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { userKey } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { STUDY_APP } from '../../study-app.ts';
import { OwnRedis } from './own-redis.ts';
import { onlyPart } from '../../stack/only-part.ts';

let master: OwnRedis;
let replica: OwnRedis;
/** The address for clients, which moves with the master. */
let address: CuttingProxy;
let laurel: TestLaurel;
let lines: string[];

beforeEach(async () => {
  [master, replica] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
  await replica.follow(master);
  address = new CuttingProxy(master.url);
  lines = [];
  laurel = await startLaurel({
    log: pino({ level: 'info' }, { write: (line) => void lines.push(line) }),
    configuration: STUDY_APP,
    redisUrl: await address.listen(),
    workers: true,
    acknowledgeMs: 300,
  });
});
afterEach(async () => {
  await laurel.close();
  address.close();
  await Promise.all([master.close(), replica.close()]);
});

interface Answer {
  status: number;
  body: { total: number };
}
const event = (user: string, key: string): Promise<Answer> =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id: user }, value: 1 }, { headers: { 'Idempotency-Key': key } });

/** Like a client: repeats a request until it is not answered 503, as it may be whenever a replica is slow. */
async function until<T extends { status: number }>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 503) return answer;
    await sleep(20);
  }
}

const insist = (user: string, key: string): Promise<Answer> => until(() => event(user, key));

const batch = (key: string): Promise<{ status: number }> =>
  laurel.admin.post('/v1/metrics/events', [{ key: 'flips', user: { id: 'batched' }, value: 1, idempotencyKey: key }]);

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

function moveTo(server: OwnRedis): void {
  address.retarget(server.url);
  address.cutAll();
}

test('answers and stores nothing that no replica has; continues when one has it', async () => {
  expect((await insist('ada', 'first')).body.total).toBe(1);
  await expect.poll(stored).toBe(1);
  replica.pause();
  expect((await event('ada', 'second')).status).toBe(503);
  expect((await event('ada', 'third')).status).toBe(503);
  expect((await batch('batched')).status).toBe(503);
  // Reads continue.
  expect((await until(() => laurel.app.get('/v1/users/ada'))).status).toBe(200);
  // The test observes that nothing comes, which only a time can end.
  await sleep(1_000);
  expect(await stored()).toBe(1);

  replica.resume();
  // Whether the master had it before it was refused is a matter of chance: a slow replica may have counted as away by then.
  expect([201, 202]).toContain((await insist('ada', 'second')).status);
  expect((await insist('ada', 'third')).body.total).toBe(3);
  // However short the outage was, the log says that it is over.
  await expect.poll(() => lines.filter((line) => line.includes('acknowledge writes again')).length).toBeGreaterThan(0);
  await expect.poll(async () => (await batch('batched')).status).toBe(202);
  await expect.poll(stored).toBe(4);
});

test('a batch that a caller waits for is answered when a replica has its results', async () => {
  const events = [{ key: 'flips', user: { id: 'eve' }, value: 1, idempotencyKey: 'eve' }];
  await insist('ada', 'first');
  const answer = await until(() => laurel.admin.post('/v1/metrics/events?wait=true', events));
  expect(answer.status).toBe(200);
  expect(await replica.command('EXISTS', userKey(onlyPart(0), 'eve'))).toBe(1);
});

test('with two replicas, answers nothing that only one has: the other one may be the master by now', async () => {
  const other = await OwnRedis.start();
  try {
    await other.follow(master);
    // A replica that was just filled reports its position only after a second, and is not waited for until then.
    const caughtUp = async (): Promise<number> => {
      const [, offset, replicas] = (await master.command('ROLE')) as [string, number, [string, string, string][]];
      return replicas.filter(([, , has]) => Number(has) >= offset).length;
    };
    // The first copy's contents count as received: the replica itself acknowledges only later writes.
    await master.command('PUBLISH', 'written', 'behind the copy');
    await expect.poll(caughtUp).toBe(2);
    expect((await insist('ada', 'first')).body.total).toBe(1);
    // From its first acknowledgement on it is one of the replicas.
    expect((await insist('ada', 'second')).body.total).toBe(2);
    await other.lead(master);
    expect((await event('ada', 'third')).status).toBe(503);
    // Like Sentinels: the second becomes master, and no refused write has reached it.
    await replica.follow(other);
    moveTo(other);
    expect((await insist('ada', 'third')).body.total).toBe(3);
    await expect.poll(stored).toBe(3);
    // Waits only some seconds for a replica that is gone for good.
    await master.follow(other);
    expect((await insist('ada', 'fourth')).body.total).toBe(4);
    await replica.kill();
    expect([201, 202]).toContain((await insist('ada', 'fifth')).status);
    await expect.poll(stored).toBe(5);
  } finally {
    await other.close();
  }
});

const ROUNDS = 10;

test(`cutting the replication and then killing the master ${ROUNDS} times loses nothing acknowledged and counts nothing twice`, async () => {
  const acknowledged = new Map<string, number>();
  let ending = false;
  const client = async (no: number): Promise<void> => {
    const user = `user ${no}`;
    for (let n = 0; !ending; n += 1) {
      const { status } = await insist(user, `${no} ${n}`);
      expect([201, 202]).toContain(status);
      acknowledged.set(user, (acknowledged.get(user) ?? 0) + 1);
    }
  };
  const clients = Array.from({ length: 8 }, (_, no) => client(no));
  const count = (): number => [...acknowledged.values()].reduce((sum, n) => sum + n, 0);
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = count();
      await expect.poll(count).toBeGreaterThan(before + 50);
      // Alternately: the replica is disconnected, or hangs until its master is dead.
      if (round % 2 === 0) await replica.lead();
      else replica.pause();
      await sleep(50 * (round % 4));
      await master.kill();
      replica.resume();
      await replica.lead();
      moveTo(replica);
      master.lose();
      await master.start();
      await master.follow(replica);
      [master, replica] = [replica, master];
    }
    const before = count();
    await expect.poll(count).toBeGreaterThan(before + 50);
  } finally {
    ending = true;
  }
  await Promise.all(clients);
  const wrong: object[] = [];
  for (const [user, expected] of acknowledged) {
    const { body } = await until(() => laurel.app.get(`/v1/users/${encodeURIComponent(user)}/metrics/flips`));
    if (body.current !== expected) wrong.push({ user, expected, current: body.current });
  }
  expect(wrong).toEqual([]);
  // Writes that only the master had were answered 503: nobody got an acknowledgement of them.
  expect(lines.filter((line) => line.includes('EVENTS ARE LOST'))).toEqual([]);
  await expect.poll(stored).toBe(count());
});
