import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PersistStep } from '../../src/engine/persist/persister.ts';
import { createResources } from '../../src/catalog/resources.ts';
import { systemClock } from '../../src/clock.ts';
import { messageId } from '../../src/engine/notifications/listeners.ts';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import type { HappenedRecord } from '../../src/packed/record.ts';
import { backlog } from '../../src/redis/outbox.ts';
import { WakeUp } from '../../src/redis/wake-up.ts';
import { eventRecord, packedState, writeEntry } from '../engine/persist/outbox-writer.ts';
import { countedDays, storedDays } from '../engine/activity/stored-days.ts';
import { testDatabase } from '../postgres/database.ts';
import { DyingWorkers } from './dying-workers.ts';
import { addTo } from '../../src/grouped.ts';
import { endChild, exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

const STEPS: PersistStep[] = ['read', 'written', 'committed', 'trimmed'];
const KILLS = 8;
/** The maximum number of pending entries: a worker takes none while it starts, which may take long on a busy machine. */
const ENOUGH = 300;

let redis: Redis;
let wakeUp: WakeUp;
/** Of tenant 0. Nobody listens at its address. */
let webhookId: string;
const workers = new DyingWorkers();

const database = opened(() => testDatabase());
beforeAll(async () => {
  await database.pool.query("INSERT INTO tenants (no, id, name) VALUES (1, gen_random_uuid(), 'One')");
  redis = createRedis(database.stack.redisUrl);
  await redisReady(redis);
  wakeUp = new WakeUp(redis);
  const resources = createResources({ pool: database.pool, announce: async () => undefined, clock: systemClock });
  const url = 'http://127.0.0.1:9/';
  const fields = {
    name: 'Killed',
    url,
    events: ['streak.extended' as const],
    enabled: true,
    secretNo: 1,
    header: null,
    filter: null,
  };
  ({ result: webhookId } = await resources.edit(0, { who: 'test' }, (draft) => draft.create('webhook', fields).id));
});

afterAll(async () => {
  workers.close();
  await wakeUp.close();
  redis.disconnect();
});

interface Expected {
  events: string[];
  awards: string[];
  completions: string[];
  /** User of tenant 0 → the messages about the user, in the order of the events. */
  messages: Map<string, string[]>;
  /** User → the number of the last event, which the test keeps as an attribute. */
  users: Map<string, string>;
}

/** Writes `entries` entries of shards 0 and 1, each of 1 to 3 events, and announces them to the workers. */
async function writeSome(expected: Expected, entries: number): Promise<void> {
  for (let n = 0; n < entries; n++) {
    const tenantNo = n % 2;
    const records: HappenedRecord[] = [];
    const states: Record<string, Buffer> = {};
    for (let k = 0; k <= n % 3; k++) {
      const number = expected.events.length;
      const userId = `user-${number % 40}`;
      const record = eventRecord({
        a: 1,
        u: userId,
        c: [number + 1],
        s: [2, 20_774, 20_775, 1, 0],
        p: [
          [
            1,
            0,
            9,
            [
              [2, 4, 4, []],
              [3, 5, 9, []],
            ],
          ],
        ],
      });
      records.push(record);
      const id = messageId({ webhookId, type: 'streak.extended', source: `${record.i}:0` });
      if (tenantNo === 0) addTo(expected.messages, userId, id);
      expected.events.push(record.i);
      expected.awards.push(...['0001', '0002'].map((ordinal) => record.i.slice(0, -4) + ordinal));
      expected.completions.push(`${tenantNo}:${userId}:${number + 1}`);
      expected.users.set(`${tenantNo}:${userId}`, String(number));
      states[userId] = packedState({ attributes: new Map([[1, String(number)]]) });
    }
    await writeEntry(redis, tenantNo, { tenantNo, records, states });
    wakeUp.touched(tenantNo);
  }
}

async function texts(statement: string): Promise<string[]> {
  return (await database.pool.query<{ text: string }>(`${statement} ORDER BY 1`)).rows.map(({ text }) => text);
}

test('killing a worker between its steps, again and again, leaves every event and message exactly once', async () => {
  const seed = Number(process.env['SEED']);
  const kills = fc.sample(
    fc.record({ nth: fc.integer({ min: 1, max: 3 }), entries: fc.integer({ min: 1, max: 150 }) }),
    {
      numRuns: KILLS,
      seed,
    },
  );
  const expected: Expected = { events: [], awards: [], completions: [], messages: new Map(), users: new Map() };

  for (const [index, { nth, entries }] of kills.entries()) {
    const step = STEPS[index % STEPS.length]!;
    const worker = workers.start(database.stack, { DIE_AT: step, DIE_AT_NTH: String(nth) });
    const ended = exitOf(worker);
    // More and more, until the step has occurred often enough.
    while (worker.exitCode === null && worker.signalCode === null) {
      if ((await backlog(redis, 0)) + (await backlog(redis, 1)) < ENOUGH) await writeSome(expected, entries);
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    expect(await ended).toEqual([null, 'SIGKILL']);
  }

  const last = workers.start(database.stack);
  await messageOf(last);
  await writeSome(expected, 10);
  expect(await endChild(last, 'SIGTERM')).toEqual([0, null]);
  expect([await backlog(redis, 0), await backlog(redis, 1)]).toEqual([0, 0]);

  expect(await texts(`SELECT replace(id::text, '-', '') AS text FROM events`)).toEqual(expected.events.toSorted());
  expect(await texts(`SELECT replace(id::text, '-', '') AS text FROM awards`)).toEqual(expected.awards.toSorted());
  expect(await texts(`SELECT tenant_no || ':' || user_id || ':' || achievement_no AS text FROM completions`)).toEqual(
    expected.completions.toSorted(),
  );
  const users = await texts(`SELECT tenant_no || ':' || id || '=' || (attributes->>'1') AS text FROM users`);
  expect(users).toEqual([...expected.users].map(([user, number]) => `${user}=${number}`).toSorted());
  // A repeated transaction counts once. (Nobody is new or active by these records.)
  const withoutUsers = (days: string[]): string[] => days.map((day) => day.replace(/(?<=: \d+) \d+ \d+/, ''));
  expect(withoutUsers(await countedDays(database.pool))).toEqual(
    withoutUsers((await storedDays(database.pool)).filter((day) => !/: 0 /.test(day))),
  );
  const { rows } = await database.pool.query<{ user: string; ids: string[] }>(
    'SELECT user_id AS user, array_agg(id ORDER BY sequence) AS ids FROM webhook_messages GROUP BY 1',
  );
  expect(new Map(rows.map(({ user, ids }) => [user, ids]))).toEqual(expected.messages);
});
