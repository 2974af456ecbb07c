import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CaughtUp } from '../../../src/engine/persist/caught-up-reads.ts';
import { readCursor } from '../../../src/postgres/shards.ts';
import { lastPosition } from '../../../src/redis/outbox.ts';
import { shardOf } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';

// Without workers: the test moves the cursor of Postgres itself, as slowly as it wants.
let laurel: TestLaurel;
const shard = shardOf(0);
beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
  for (let event = 0; event < 3; event += 1) {
    const { status } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
    if (status !== 201) throw new Error(`an event was answered ${status}`);
  }
});
afterAll(() => laurel.close());

const stored = (position: string): Promise<unknown> =>
  laurel.pool.query('UPDATE outbox_cursors SET stream_id = $2 WHERE shard = $1', [shard, position]);

test('a read keeps waiting while earlier answers are getting stored, however slowly', async () => {
  await readCursor(laurel.pool, shard);
  const last = await lastPosition(laurel.redis, shard);
  let arrived = false;
  const arrives = (async () => {
    for (let step = 1; step <= 14; step += 1) {
      await sleep(400);
      await stored(`${step}-0`);
    }
    arrived = true;
    await stored(last);
  })();
  const { redis, pool } = laurel;
  // Shorter than all steps together, and much longer than one.
  await new CaughtUp({ redis, pool, patience: { stillMs: 5_000, movingMs: 120_000 } }).tenant(0);
  expect(arrived).toBe(true);
  await arrives;
});
