import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PersistStep } from '../../src/engine/persist/persister.ts';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { keptEntriesKey } from '../../src/redis/keys.ts';
import { backlog } from '../../src/redis/outbox.ts';
import { WakeUp } from '../../src/redis/wake-up.ts';
import { eventually } from '../chaos/processes.ts';
import { eventRecord, packedState, writeEntry } from '../engine/persist/outbox-writer.ts';
import { testDatabase } from '../postgres/database.ts';
import { DyingWorkers } from './dying-workers.ts';
import { endChild, exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

/** Pending entries, whose steps are enough for every worker to die. */
const ENOUGH = 60;
const STEPS: PersistStep[] = ['written', 'committed', 'kept', 'trimmed'];

let wakeUp: WakeUp;
const workers = new DyingWorkers();

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
  wakeUp = new WakeUp(redis);
  // An empty Redis is rebuilt first, which stores its contents without any of the steps.
  const first = workers.start(database.stack);
  await messageOf(first);
  await endChild(first, 'SIGTERM');
});

afterAll(async () => {
  workers.close();
  await wakeUp.close();
});

/** Written to shard 0: the events to store, the positions of the damaged entries, users' last states. */
const expected = { events: [] as string[], damaged: [] as string[], users: new Map<string, string>() };

/** Ten entries of two events each; one event of the fifth has an invalid value. */
async function writeSome(): Promise<void> {
  for (let n = 0; n < 10; n += 1) {
    const records = ['ada', 'bob'].map((u) => eventRecord({ u, a: 1 }));
    const number = String(expected.events.length);
    const bad = n === 4;
    if (bad) records[1]!.v = ['none', 0] as never;
    expected.events.push(...records.slice(0, bad ? 1 : 2).map(({ i }) => i));
    const states = Object.fromEntries(records.map(({ u }) => [u, packedState({ attributes: new Map([[1, number]]) })]));
    for (const { u } of records) expected.users.set(u, number);
    const position = await writeEntry(redis, 0, { records, states });
    if (bad) expected.damaged.push(position);
  }
  wakeUp.touched(0);
}

const texts = async (statement: string): Promise<string[]> =>
  (await database.pool.query<{ text: string }>(`${statement} ORDER BY 1`)).rows.map(({ text }) => text);

test('killing a worker between its steps over damaged entries loses and duplicates neither events nor dead letters', async () => {
  // From the third round on Postgres accepts no entry as bytes, so that Redis keeps them.
  const refuse = 'ALTER TABLE dead_letters ADD CONSTRAINT no_bytes CHECK (entry IS NULL) NOT VALID';
  for (const [round, step] of [...STEPS, ...STEPS].entries()) {
    if (round === 2) await database.pool.query(refuse);
    // The first of the steps are those of good entries, up to the bad one; the later ones are its own.
    const nth = step === 'kept' ? 1 : 1 + (round % 3);
    const worker = workers.start(database.stack, { DIE_AT: step, DIE_AT_NTH: String(nth) });
    const ended = exitOf(worker);
    while (worker.exitCode === null && worker.signalCode === null) {
      // No more than a worker of a slow machine completes: a starting worker does nothing for a while.
      if ((await backlog(redis, 0)) < ENOUGH) await writeSome();
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 200))]);
    }
    expect(await ended).toEqual([null, 'SIGKILL']);
  }
  const last = workers.start(database.stack);
  await messageOf(last);
  await writeSome();
  await eventually('all is stored', async () => (await backlog(redis, 0)) === 0, 120_000);
  expect(await endChild(last, 'SIGTERM')).toEqual([0, null]);

  expect(await texts(`SELECT replace(id::text, '-', '') AS text FROM events`)).toEqual(expected.events.toSorted());
  expect(await texts('SELECT position AS text FROM dead_letters')).toEqual(expected.damaged.toSorted());
  const inRedis = await texts('SELECT position AS text FROM dead_letters WHERE in_redis');
  expect(inRedis.length).toBeGreaterThan(0);
  // Redis keeps what Postgres says, and at most what a killed worker left, of an entry that is also a dead letter.
  expect((await redis.hkeys(keptEntriesKey(0))).toSorted()).toEqual(inRedis);
  expect(await texts(`SELECT id || '=' || (attributes->>'1') AS text FROM users`)).toEqual(
    [...expected.users].map(([user, number]) => `${user}=${number}`).toSorted(),
  );
});
