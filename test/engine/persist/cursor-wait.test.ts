import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { cursorReaches, cursorsMoved } from '../../../src/engine/persist/cursor-wait.ts';
import { Bill, type Cost, Lane, noCost, TenantLanes } from '../../../src/pacing/turns.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase({ redis: false }));

test('requests that wait for Postgres share what reading the cursor costs', async () => {
  const costs = [noCost(), noCost()] as const;
  const wait = (cost: Cost): Promise<string> =>
    new Promise((resolve, reject) => {
      const lane = new Lane(new TenantLanes(), { isOfUser: true, most: () => 1 });
      const bill = new Bill(lane, cost, () => undefined);
      lane.start(bill, () => {
        cursorReaches(database.pool, 0, { position: '99999999999999-0', stillMs: 1, movingMs: 1 })
          .finally(() => lane.ended())
          .then(({ end }) => resolve(end), reject);
      });
    });
  // The first read, which both wait for, takes longer than all else.
  const locking = await database.pool.connect();
  await locking.query('BEGIN; LOCK TABLE outbox_cursors');
  const beganMs = performance.now();
  const ends = Promise.all(costs.map(wait));
  await sleep(300);
  await locking.query('COMMIT');
  locking.release();
  expect(await ends).toEqual(['still', 'still']);
  const [one, other] = costs.map(({ postgresMs }) => postgresMs) as [number, number];
  expect(Math.min(one, other)).toBeGreaterThan(0.5);
  expect(one + other).toBeLessThan(performance.now() - beganMs);
});

test('each caller who waits reads the cursor once, then only sometimes; what a worker stores is read at once', async () => {
  const { pool } = database;
  let reads = 0;
  const onRead = (): void => void (reads += 1);
  pool.on('acquire', onRead);
  onTestFinished(() => void pool.off('acquire', onRead));
  const reached = async (position: string): Promise<void> => {
    await cursorReaches(pool, 1, { position, stillMs: 60_000, movingMs: 60_000 });
  };
  const callers = 10;
  const beganMs = performance.now();
  const waits: Promise<void>[] = [];
  for (let no = 0; no < callers; no += 1) {
    waits.push(reached('1-0'));
    await sleep(30);
  }
  await sleep(200);
  expect(reads).toBeLessThan(callers + 2 + (performance.now() - beganMs) / 100);
  for (let no = 1; ; no += 1) {
    await pool.query('UPDATE outbox_cursors SET stream_id = $1 WHERE shard = 1', [`${no}-0`]);
    await vi.waitUntil(() => pool.idleCount === pool.totalCount);
    let isOver = false;
    const all = Promise.all(waits.splice(0)).then(() => (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    reads = 0;
    cursorsMoved(pool, [0, 1]);
    await new Promise((resolve) => setImmediate(resolve));
    const readsAtOnce = reads;
    // Else a read of the usual interval came first: the next position decides.
    if (!isOver) expect(readsAtOnce).toBe(1);
    await all;
    if (readsAtOnce === 1) return;
    waits.push(reached(`${no + 1}-0`));
  }
});
