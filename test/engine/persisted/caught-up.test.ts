import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { CaughtUp } from '../../../src/engine/persist/caught-up-reads.ts';
import { readCursor } from '../../../src/postgres/shards.ts';
import { lastPosition } from '../../../src/redis/outbox.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const shard = onlyPart(0).shard;
// Without workers: the test moves the cursor of Postgres itself, as slowly as it wants.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  for (let event = 0; event < 3; event += 1) {
    const { status } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 });
    if (status !== 201) throw new Error(`an event was answered ${status}`);
  }
});

const stored = (position: string): Promise<unknown> =>
  laurel.pool.query('UPDATE outbox_cursors SET stream_id = $2 WHERE shard = $1', [shard, position]);

test('a read keeps waiting while earlier answers are getting stored, however slowly', async () => {
  const { redis } = laurel;
  await readCursor(laurel.pool, shard);
  const last = await lastPosition(redis, shard);
  let step = 0;
  // The time in which a read waits: a second for each read of the cursor, however long it takes.
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const query = laurel.pool.query.bind(laurel.pool) as (...asked: unknown[]) => Promise<unknown>;
  // Each read of the cursor finds it a little further on.
  const pool = new Proxy(laurel.pool, {
    get: (target, name) => {
      if (name !== 'query') return Reflect.get(target, name, target) as unknown;
      return async (...asked: unknown[]): Promise<unknown> => {
        nowMs += 1_000;
        step += 1;
        await stored(step < 15 ? `${step}-0` : last);
        return query(...asked);
      };
    },
  });
  await new CaughtUp({ redis, pool, patience: { stillMs: 1_500, movingMs: 600_000 } }).tenant(0);
  expect(step).toBe(15);
});
