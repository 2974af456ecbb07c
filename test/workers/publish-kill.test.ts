import { afterAll, expect, test } from 'vitest';
import { createResources } from '../../src/catalog/resources.ts';
import { systemClock } from '../../src/clock.ts';
import type { Notification } from '../../src/domain/notifications/notification.ts';
import type { PublishStep } from '../../src/engine/notifications/due/publisher.ts';
import { messageId } from '../../src/engine/notifications/listeners.ts';
import { throttle } from '../../src/engine/notifications/throttles.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { Receiver } from '../engine/webhooks/receiver.ts';
import { testDatabase } from '../postgres/database.ts';
import { DyingWorkers } from './dying-workers.ts';
import { endChild, exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

const STEPS: PublishStep[] = ['made', 'inserted', 'published'];
const USERS = 30;
const MINUTE_MS = 60_000;
const SYSTEM = '00000000-0000-4000-8000-000000000001';

const workers = new DyingWorkers();
const database = opened(() => testDatabase());
const receiver = opened(() => Receiver.start());
afterAll(async () => {
  workers.close();
});

const points = (userId: string, total: number, atMs: number): Notification => ({
  type: 'points.changed',
  tenantNo: 0,
  userId,
  atMs,
  source: `${userId}:${total}`,
  about: { pointsSystemId: SYSTEM },
  payload: JSON.stringify({ type: 'points.changed', user: { id: userId }, points: { total, added: 1, awards: [] } }),
});

test('killing workers while they report the ends of windows leaves each message once, and opens each window again', async () => {
  const { pool, stack } = database;
  const resources = createResources({ pool, announce: async () => undefined, clock: systemClock });
  const hook = {
    name: 'Killed',
    url: receiver.url,
    events: ['points.changed' as const],
    enabled: true,
    secretNo: 1,
    header: null,
    filter: null,
  };
  const { result: webhookId } = await resources.edit(0, { who: 'test' }, (draft) => draft.create('webhook', hook).id);
  const due: string[] = [];
  for (const step of STEPS) {
    const users = Array.from({ length: USERS }, (_, n) => `${step} ${n}`);
    // Each was reported 17 minutes ago, and changed a minute later: that is due by now.
    for (const [total, minutesAgo] of [
      [1, 17],
      [2, 16],
    ] as const) {
      const atMs = Date.now() - minutesAgo * MINUTE_MS;
      const some = users.map((user) => points(user, total, atMs));
      const atOnce = await transaction(pool, (client) => throttle(client, some, atMs));
      expect(atOnce).toHaveLength(total === 1 ? USERS : 0);
    }
    due.push(...users.map((user) => messageId({ webhookId, type: 'points.changed', source: `${user}:2` })));
    const worker = workers.start(stack, { DIE_AT: step, DIE_AT_NTH: '1' });
    expect(await exitOf(worker)).toEqual([null, 'SIGKILL']);
  }
  const last = workers.start(stack);
  // Before that, a signal would kill it.
  await messageOf(last);
  await expect.poll(async () => new Set(receiver.ids).size).toBe(due.length);
  expect(await endChild(last, 'SIGTERM')).toEqual([0, null]);

  const { rows } = await pool.query<{ id: string }>('SELECT id FROM webhook_messages ORDER BY id');
  expect(rows.map(({ id }) => id)).toEqual(due.toSorted());
  expect([...new Set(receiver.ids)].toSorted()).toEqual(due.toSorted());
  const windows = await pool.query('SELECT FROM notification_windows WHERE payload IS NULL AND until_ms > $1', [
    Date.now(),
  ]);
  expect(windows.rowCount).toBe(due.length);
});
