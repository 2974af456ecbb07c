import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import type { BatchMoment } from '../../src/engine/events/batch-processor.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { DyingWorkers } from './dying-workers.ts';
import { addTo } from '../../src/grouped.ts';
import { endChild, exitOf, messageOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

const MOMENTS: BatchMoment[] = ['sent', 'applied'];
const KILLS = 8;
const BATCH = 1000;

const workers = new DyingWorkers();

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
afterAll(async () => {
  workers.close();
});

test('killing a worker in the middle of batches, again and again, leaves every event once and in order', async () => {
  const kills = fc.sample(fc.integer({ min: 1, max: 9 }), { numRuns: KILLS, seed: Number(process.env['SEED']) });
  const sent = new Map<string, number[]>();
  let number = 0;
  const submit = async (): Promise<void> => {
    const events = Array.from({ length: BATCH }, () => {
      number += 1;
      // Every other event is of one hot user; every fifth one has an idempotency key, and is repeated at once.
      const user = number % 2 === 0 ? 'hot' : `user-${number % 37}`;
      const value = number / 4;
      const key = number % 5 === 0 ? { idempotencyKey: `key ${number}` } : {};
      addTo(sent, user, value);
      return { key: 'flips', user: { id: user }, value, ...key };
    });
    const replays = events.filter((event) => 'idempotencyKey' in event).slice(0, 50);
    const { status, body } = await laurel.admin.post('/v1/metrics/events', [...events.slice(0, 950), ...replays]);
    expect([status, body]).toEqual([202, { accepted: 950 + replays.length }]);
    const rest = await laurel.admin.post('/v1/metrics/events', events.slice(950));
    expect(rest.status).toBe(202);
  };

  for (const [index, nth] of kills.entries()) {
    await submit();
    const worker = workers.start(laurel, { DIE_AT: MOMENTS[index % MOMENTS.length]!, DIE_AT_NTH: String(nth) });
    // Two at once, every other time: the survivor finds the dying one at the same batch.
    const second = index % 4 === 1 ? workers.start(laurel) : null;
    const ended = exitOf(worker);
    // More, until that step has occurred often enough.
    while (worker.exitCode === null && worker.signalCode === null) {
      if ((await laurel.redis.xlen('{s0}:batches')) === 0) await submit();
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    expect(await ended).toEqual([null, 'SIGKILL']);
    if (second !== null) {
      await endChild(second, 'SIGKILL');
    }
  }

  const last = workers.start(laurel);
  await messageOf(last);
  for (const stream of ['{s0}:batches', '{s0}:outbox']) await expect.poll(() => laurel.redis.xlen(stream)).toBe(0);
  expect(await endChild(last, 'SIGTERM')).toEqual([0, null]);

  for (const [user, values] of sent) {
    let total = 0;
    const expected = values.map((value) => ({ value, total: (total += value) }));
    const { rows } = await laurel.pool.query(
      'SELECT value::float8, total::float8 FROM events WHERE user_id = $1 ORDER BY total',
      [user],
    );
    expect(rows).toEqual(expected);
    expect((await laurel.app.get(`/v1/users/${user}/metrics/flips`)).body.current).toBe(total);
  }
  const { rows } = await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events');
  expect(rows[0]!.n).toBe(number);
});
