import { setTimeout as sleep } from 'node:timers/promises';
import { pino, type Logger } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startWorkers } from '../../../workers/start.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { STUDY_APP } from '../../study-app.ts';
import { OwnRedis } from './own-redis.ts';

let master: OwnRedis;
let replica: OwnRedis;
/** The address for clients, which moves with the master. */
let address: CuttingProxy;
let laurel: TestLaurel;
/** The log of all processes. */
let lines: string[];
let log: Logger;
let closing: (() => Promise<unknown>)[];

beforeEach(async () => {
  closing = [];
  lines = [];
  [master, replica] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
  await replica.follow(master);
  address = new CuttingProxy(master.url);
  log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  laurel = await startLaurel({ configuration: STUDY_APP, redisUrl: await address.listen(), log });
});
afterEach(async () => {
  for (const close of closing) await close();
  await laurel.close();
  address.close();
  await Promise.all([master.close(), replica.close()]);
});

async function work(): Promise<void> {
  const workers = await startWorkers({ redisUrl: laurel.redisUrl, databaseUrl: laurel.databaseUrl, log });
  closing.push(() => workers.close());
}

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

const epoch = async (): Promise<number> =>
  (await laurel.pool.query<{ epoch: number }>('SELECT epoch FROM redis_epoch')).rows[0]!.epoch;

const event = (key: string, client = laurel.app): Promise<{ status: number; body: { total: number } }> =>
  client.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 }, { headers: { 'Idempotency-Key': key } });

/** Like a client: retries until it is accepted. */
async function insist(key: string, client = laurel.app): Promise<{ status: number; body: { total: number } }> {
  for (;;) {
    const answer = await event(key, client);
    if (answer.status !== 503) return answer;
    await sleep(20);
  }
}

const ready = async (): Promise<number> => (await laurel.app.get('/readyz')).status;

/** From now on the address leads to another server; its connections break. */
function moveTo(server: OwnRedis): void {
  address.retarget(server.url);
  address.cutAll();
}

test('notices a master that became a replica on open connections, by its answers, and logs few lines', async () => {
  await work();
  expect((await insist('first')).body.total).toBe(1);
  await expect.poll(stored).toBe(1);
  lines = [];

  await replica.lead(master);
  await master.follow(replica);
  expect((await event('refused')).status).toBe(503);
  expect(await ready()).toBe(503);
  // The queue's workers meet it as well, and would log thousands of lines without throttling.
  const beganMs = performance.now();
  for (let n = 0; n < 300; n += 1) {
    expect((await event('refused')).status).toBe(503);
    await sleep(10);
  }
  expect(await ready()).toBe(503);
  // Each kind of line is repeated every few seconds.
  expect(lines.length).toBeLessThan(25 + (performance.now() - beganMs) / 1_000);

  moveTo(replica);
  expect((await insist('refused')).body.total).toBe(2);
  await expect.poll(ready).toBe(200);
  expect((await insist('first')).status).toBe(202);
  await expect.poll(stored).toBe(2);
  expect(await epoch()).toBe(1);
  // Nothing was rebuilt, and nothing claims so.
  await expect.poll(() => lines.filter((line) => line.includes('followed the new master'))).toHaveLength(2);
  expect(lines.filter((line) => line.includes('rebuilt'))).toEqual([]);
});

test('checks a master again that was a replica for a moment, though its process and connections are the same', async () => {
  await work();
  await insist('first');
  await expect.poll(stored).toBe(1);
  // No request is sent meanwhile, which could notice. The other one accepts an event that this one never gets.
  await replica.lead(master);
  await master.follow(replica);
  await master.lead();
  await expect
    .poll(async () => (await laurel.pool.query('SELECT DISTINCT storage_epoch FROM outbox_cursors')).rows)
    .toEqual([{ storage_epoch: expect.stringContaining(await replidOf(master)) }]);
  expect((await insist('second')).body.total).toBe(2);
});

test('a process that reconnects to a former master writes nothing to it: another Redis has taken its place', async () => {
  await work();
  await insist('first');
  await expect.poll(stored).toBe(1);
  const past = new CuttingProxy(master.url);
  closing.push(async () => past.close());
  const left = await laurel.another(await past.listen());
  expect((await insist('first', left.app)).status).toBe(202);

  await replica.lead(master);
  moveTo(replica);
  for (const key of ['second', 'third']) expect((await insist(key)).status).toBe(201);
  await expect.poll(stored).toBe(3);
  // It still claims to be a master, as it does behind a network partition, and its process is the same.
  past.cutAll();
  for (let n = 0; n < 20; n += 1) {
    expect((await event(`lost ${n}`, left.app)).status).toBe(503);
    await sleep(20);
  }
  past.retarget(replica.url);
  past.cutAll();
  expect((await insist('fourth', left.app)).body.total).toBe(4);
  await expect.poll(stored).toBe(4);
});

test('a replica takes over without the last acknowledged, unstored events: they are named', async () => {
  for (const key of ['first', 'second']) expect((await insist(key)).status).toBe(201);
  await replica.lead(master);
  expect((await insist('lost')).body.total).toBe(3);
  await master.kill();
  moveTo(replica);
  expect((await insist('third')).body.total).toBe(3);
  const named = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('EVENTS ARE LOST'));
  expect(named).toMatchObject([{ shard: 0, acknowledged: expect.stringMatching(/^\d+-\d+$/) }]);
});

test('a replica takes over without what Postgres holds: it is rebuilt', async () => {
  await work();
  for (const key of ['first', 'second']) expect((await insist(key)).status).toBe(201);
  await replica.lead(master);
  expect((await insist('ahead')).body.total).toBe(3);
  await expect.poll(stored).toBe(3);
  await master.kill();
  moveTo(replica);
  expect((await insist('fourth')).body.total).toBe(4);
  expect((await insist('ahead')).status).toBe(202);
  expect(await epoch()).toBe(2);
  await expect.poll(() => lines.some((line) => line.includes('Redis is rebuilt'))).toBe(true);
  expect(lines.filter((line) => line.includes('EVENTS ARE LOST'))).toEqual([]);
});

async function replidOf(redis: OwnRedis): Promise<string> {
  return /master_replid:(\w+)/.exec(String(await redis.command('INFO', 'replication')))![1]!;
}
