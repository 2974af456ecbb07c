import { expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

/** Attacks by a user who knows how event IDs are derived and chooses idempotency keys. */
const clock = new FixedClock(Date.UTC(2026, 10, 18, 12));

const withLaurel = async (run: (laurel: TestLaurel) => Promise<void>): Promise<void> => {
  const laurel = await startLaurel({ configuration: STUDY_APP, clock, workers: true });
  try {
    await run(laurel);
  } finally {
    await laurel.close();
  }
};

const flip = (app: TestLaurel['app'], id: string, key: string) =>
  app.post('/v1/metrics/flips/event', { user: { id }, value: 1 }, { headers: { 'Idempotency-Key': key } });

test('a sender cannot predict an event ID: another installation derives another one', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    await withLaurel(async (laurel) => {
      const other = await laurel.another();
      const first = await flip(laurel.app, 'mallory', 'k');
      // A second process of the same installation derives the same ID.
      const replayed = await flip(other.app, 'mallory', 'k');
      expect([first.status, replayed.status, replayed.body.eventId]).toEqual([201, 202, first.body.eventId]);
      ids.push(first.body.eventId);
    });
  }
  const [one, two] = ids;
  expect(one!.slice(0, 13)).toBe(two!.slice(0, 13));
  expect(one!.slice(15)).not.toBe(two!.slice(15));
});

/**
 * Found by a search of some minutes: an SHA-1 without the installation's secret gives events with these keys of metric 4 the
 * same ID.
 */
const PAIR = ['03d5df767537e739', '00bd4e8fdc80f31e'] as const;

test('two keys that would collide without the secret get different event IDs, and all events are stored', async () => {
  await withLaurel(async (laurel) => {
    const { rows: metrics } = await laurel.pool.query(
      `SELECT no FROM catalog_resources WHERE kind = 'metric' AND identity = 'flips'`,
    );
    expect(metrics).toEqual([{ no: 4 }]);
    const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'mallory' }])).body.created[0];
    const answers = await Promise.all(
      PAIR.map((chosen) =>
        laurel.app.post(
          '/v1/metrics/flips/event',
          { user: { id: 'mallory' }, value: 1 },
          { key, headers: { 'Idempotency-Key': chosen } },
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    const other = await flip(laurel.app, 'ada', 'k');
    const ids = [...answers, other].map(({ body }) => body.eventId as string);
    expect(new Set(ids).size).toBe(3);
    const stored = async (): Promise<number> =>
      (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events WHERE id = ANY ($1)', [ids]))
        .rows[0]!.n;
    await expect.poll(stored).toBe(3);
  });
});
