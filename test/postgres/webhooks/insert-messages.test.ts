import { v7 as uuid } from 'uuid';
import { beforeEach, expect, test } from 'vitest';
import { deleteUser } from '../../../src/postgres/persist/users.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { TOO_MANY_WAIT } from '../../../src/postgres/webhooks/messages.ts';
import { testDatabase } from '../database.ts';
import { insert, message } from './messages.ts';
import { opened } from '../../stack/opened.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 22, 12);
let webhookId: string;
const database = opened(() => testDatabase({ redis: false }));
beforeEach(() => void (webhookId = uuid()));

const logged = async (): Promise<object[]> =>
  (
    await database.pool.query(
      `SELECT id, day, user_id AS "userId", status, reason, payload FROM webhook_messages
        WHERE webhook_id = $1 ORDER BY sequence`,
      [webhookId],
    )
  ).rows;
const queued = async (): Promise<{ id: string; lane: number }[]> =>
  (
    await database.pool.query(
      'SELECT id, day, lane, due_ms, tries FROM webhook_queue WHERE webhook_id = $1 ORDER BY sequence',
      [webhookId],
    )
  ).rows;

test('logs and queues messages in order; those of one user share a lane', async () => {
  const messages = ['anna', 'ben', 'anna', null, null].map((userId) => message(webhookId, userId));
  await insert(database.pool, messages, NOW_MS);
  const day = Math.floor(NOW_MS / DAY_MS);
  expect(await logged()).toEqual(
    messages.map(({ id, userId, payload }) => ({ id, day, userId, status: 'pending', reason: null, payload })),
  );
  const waiting = await queued();
  expect(waiting).toEqual(messages.map(({ id }, at) => ({ id, day, lane: waiting[at]!.lane, due_ms: 0, tries: 0 })));
  const [anna, ben, again, none, neither] = waiting.map(({ lane }) => lane);
  expect(again).toBe(anna);
  expect([none, neither]).toEqual([0, 0]);
  expect(new Set([anna, ben, none]).size).toBe(3);
});

test('ignores a message that is made again, on the same day and on another', async () => {
  const [first, second] = [message(webhookId, 'anna'), message(webhookId, 'anna')];
  await insert(database.pool, [first], NOW_MS);
  await insert(database.pool, [first, second, second], NOW_MS);
  await insert(database.pool, [second, first], NOW_MS + DAY_MS);
  expect(await logged()).toMatchObject([{ id: first.id }, { id: second.id }]);
  expect(await queued()).toMatchObject([{ id: first.id }, { id: second.id }]);
});

test('a webhook with a full queue gets messages into the log only, with the reason', async () => {
  const [first, second] = [message(webhookId, 'anna'), message(webhookId, 'anna')];
  await insert(database.pool, [first], NOW_MS);
  await database.pool.query('UPDATE webhook_state SET is_full = true WHERE webhook_id = $1', [webhookId]);
  await insert(database.pool, [second], NOW_MS);
  expect(await logged()).toMatchObject([{ status: 'pending' }, { status: 'failed', reason: TOO_MANY_WAIT }]);
  expect(await queued()).toMatchObject([{ id: first.id }]);
});

test('text that Postgres refuses does not keep messages from being stored', async () => {
  await insert(database.pool, [message(webhookId, 'a\0nna', { payload: '{"name":"\0"}' })], NOW_MS);
  expect(await logged()).toMatchObject([{ userId: 'a\uFFFDnna', payload: '{"name":"\uFFFD"}' }]);
});

test('keeps the order of more messages than one statement takes', async () => {
  const messages = Array.from({ length: 2_500 }, (_, n) => message(webhookId, `user-${n}`));
  await insert(database.pool, messages, NOW_MS);
  expect((await queued()).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
});

test("deletes a user's messages with the user", async () => {
  await insert(database.pool, [message(webhookId, 'gone'), message(webhookId, 'stays')], NOW_MS);
  await transaction(database.pool, (client) => deleteUser(client, { tenantNo: 0, userId: 'gone' }, async () => {}));
  expect(await logged()).toMatchObject([{ userId: 'stays' }]);
});
