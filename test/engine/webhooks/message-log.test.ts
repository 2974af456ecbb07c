import { v7 as uuid } from 'uuid';
import { expect, test } from 'vitest';
import { createMessageLog } from '../../../src/engine/webhooks/message-log.ts';
import type { ScheduledWork } from '../../../src/engine/schedule/due-work.ts';
import { insertMessages, messageDays } from '../../../src/postgres/webhooks/messages.ts';
import { testDatabase } from '../../postgres/database.ts';
import { insert, message } from '../../postgres/webhooks/messages.ts';
import { opened } from '../../stack/opened.ts';

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 10, 18, 12);
const TODAY = Math.floor(NOON_MS / DAY_MS);
const ending = new AbortController().signal;
const webhookId = uuid();
const database = opened(() => testDatabase({ redis: false }));

const days = async (): Promise<number[]> => (await messageDays(database.pool)).toSorted((a, b) => a - b);
const stored = async (table: string): Promise<number[]> =>
  (await database.pool.query<{ day: number }>(`SELECT day - ${TODAY} AS day FROM ${table} ORDER BY 1`)).rows.map(
    ({ day }) => day,
  );

async function workOff(log: ScheduledWork, nowMs: number): Promise<void> {
  while ((await log.due(nowMs)) !== null) await log.perform(0, ending, 0, nowMs);
}

test('partitions are made ahead and dropped by the day, with the pending messages of those days', async () => {
  const { pool } = database;
  // Inserted before any partition exists, so it goes to the default partition.
  await insert(pool, [message(webhookId, 'anna')], NOON_MS - DAY_MS);
  const log = createMessageLog(pool, 3);
  expect(await log.due(NOON_MS)).toBe(TODAY * DAY_MS);
  await workOff(log, NOON_MS);
  expect(await days()).toEqual([TODAY, TODAY + 1, TODAY + 2]);
  expect(await log.due(NOON_MS)).toBeNull();
  expect(await log.upcoming(NOON_MS + DAY_MS)).toBe((TODAY + 1) * DAY_MS);

  await insert(pool, [message(webhookId, 'anna')], NOON_MS);
  await insert(pool, [message(webhookId, 'anna')], NOON_MS + DAY_MS);
  expect(await stored('ONLY webhook_messages_default')).toEqual([-1]);
  for (let day = 1; day <= 4; day += 1) await workOff(log, NOON_MS + day * DAY_MS);
  expect(await days()).toEqual([1, 2, 3, 4, 5, 6].map((day) => TODAY + day));
  expect(await stored('webhook_messages')).toEqual([1]);
  expect(await stored('webhook_queue')).toEqual([1]);
});

test('a day with messages older than its partition gets no partition, and is still dropped', async () => {
  const { pool } = database;
  const later = TODAY + 100;
  await insert(pool, [message(webhookId, 'anna')], later * DAY_MS);
  const log = createMessageLog(pool, 3);
  await workOff(log, later * DAY_MS);
  expect(await days()).toEqual([later + 1, later + 2]);
  await workOff(log, (later + 4) * DAY_MS);
  expect(await stored('webhook_messages')).toEqual([]);
  expect(await stored('webhook_queue')).toEqual([]);
});

test('a session that uses the log delays creating and dropping its days, by a second at most', async () => {
  const { pool } = database;
  const log = createMessageLog(pool, 3);
  const laterMs = (TODAY + 200) * DAY_MS;
  const before = await days();
  const writer = await pool.connect();
  try {
    await writer.query('BEGIN');
    await insertMessages(writer, [message(webhookId, 'anna')], laterMs);
    await expect(workOff(log, laterMs)).rejects.toMatchObject({ code: '55P03' });
    expect(await days()).toEqual(before);
    await insertMessages(writer, [message(webhookId, 'anna')], laterMs);
    await writer.query('COMMIT');
  } finally {
    writer.release();
  }
  await workOff(log, laterMs);
  expect(await days()).toEqual([TODAY + 201, TODAY + 202]);
});
