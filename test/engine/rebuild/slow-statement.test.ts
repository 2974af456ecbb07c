import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openLaurel, type Laurel } from '../../../src/processes/composition.ts';
import { readCursors } from '../../../src/postgres/shards.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';

/** Longer than a frontend lets a request wait for a statement. */
const LONGER_MS = 6_000;

let database: TestDatabase;
let laurel: Laurel | undefined;

beforeEach(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  await laurel?.close();
  await database.close();
});

test('a frontend that has to fill Redis waits longer for a statement than a request does', async () => {
  await readCursors(database.pool);
  const storing = await database.pool.connect();
  await storing.query('BEGIN; SELECT FROM outbox_cursors FOR UPDATE');
  const logThrottle: string[] = [];
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_: object, text: string) => logThrottle.push(text),
  };
  const { redisUrl, databaseUrl } = database.stack;
  laurel = await openLaurel({ redisUrl, databaseUrl, backlogLimit: 1_000, clock: systemClock, log });
  expect(laurel.isReady(0)).toBe(false);
  await sleep(LONGER_MS);
  await storing.query('COMMIT');
  storing.release();
  await expect.poll(() => laurel!.isReady(0)).toBe(true);
  expect(logThrottle).toEqual([]);
});
