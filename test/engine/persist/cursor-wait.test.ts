import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cursorReaches } from '../../../src/engine/persist/cursor-wait.ts';
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
