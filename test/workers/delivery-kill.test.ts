import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createResources } from '../../src/catalog/resources.ts';
import type { DeliveryStep } from '../../src/engine/webhooks/deliveries.ts';
import { Signals } from '../../src/redis/signals.ts';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { Receiver } from '../engine/webhooks/receiver.ts';
import { testDatabase } from '../postgres/database.ts';
import { insert, message } from '../postgres/webhooks/messages.ts';
import { DyingWorkers } from './dying-workers.ts';
import { endChild, exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

const STEPS: DeliveryStep[] = ['taken', 'answered', 'recorded'];
const KILLS = 6;
const USERS = 20;
/** The maximum number of pending messages: a worker takes none while it starts, which may take long on a busy machine. */
const ENOUGH = 120;

const workers = new DyingWorkers();
const database = opened(() => testDatabase());
const receiver = opened(() => Receiver.start());
afterAll(async () => {
  workers.close();
});

test('killing workers while they deliver leaves every message delivered, none made twice, in order about one user', async () => {
  const redis = createRedis(database.stack.redisUrl);
  await redisReady(redis);
  const signals = new Signals(redis);
  const resources = createResources({ pool: database.pool, announce: async () => undefined, clock: systemClock });
  const { result: webhookId } = await resources.edit(
    0,
    { who: 'test' },
    (draft) =>
      draft.create('webhook', {
        name: 'kill',
        url: receiver.url,
        events: ['points.changed'],
        enabled: true,
        secretNo: 1,
        header: null,
        filter: null,
      }).id,
  );
  const kills = fc.sample(fc.integer({ min: 1, max: 12 }), { numRuns: KILLS, seed: Number(process.env['SEED']) });
  const sent: string[] = [];
  const sendSome = async (): Promise<void> => {
    const messages = Array.from({ length: 30 }, (_, n) => message(webhookId, `user-${n % USERS}`));
    await insert(database.pool, messages, Date.now());
    signals.announce('deliveries', '');
    sent.push(...messages.map(({ id }) => id));
  };

  const waiting = async (): Promise<number> =>
    (await database.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM webhook_queue')).rows[0]!.n;

  for (const [index, nth] of kills.entries()) {
    const dieAt = { DIE_AT: STEPS[index % STEPS.length]!, DIE_AT_NTH: String(nth), LEASE_MS: '1000' };
    // Two at once; the one with the lease dies and the other takes over.
    const both = [workers.start(database.stack, dieAt), workers.start(database.stack, dieAt)];
    const ended = Promise.any(both.map((worker) => exitOf(worker)));
    let over = false;
    void ended.then(() => (over = true));
    while (!over) {
      if ((await waiting()) < ENOUGH) await sendSome();
      await Promise.race([ended, sleep(50)]);
    }
    expect(await ended).toEqual([null, 'SIGKILL']);
    for (const worker of both) worker.kill('SIGKILL');
  }

  const last = workers.start(database.stack, { LEASE_MS: '1000' });
  // Before that, a signal would kill it.
  await messageOf(last);
  await expect.poll(waiting).toBe(0);
  expect(await endChild(last, 'SIGTERM')).toEqual([0, null]);

  const { rows } = await database.pool.query<{ id: string; status: string; sequence: number; user: string }>(
    'SELECT id, status, sequence, user_id AS user FROM webhook_messages ORDER BY sequence',
  );
  expect(rows.map(({ id }) => id)).toEqual(sent);
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['delivered']));
  const arrived = [...new Set(receiver.ids)];
  expect(arrived.toSorted()).toEqual(sent.toSorted());
  for (const user of new Set(rows.map((row) => row.user))) {
    const ofUser = new Set(rows.filter((row) => row.user === user).map(({ id }) => id));
    expect(arrived.filter((id) => ofUser.has(id))).toEqual([...ofUser]);
  }
  await signals.close();
  redis.disconnect();
});
