import { expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

/** What one user does who knows how event IDs are made, and chooses its idempotency keys. */
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

test('an ID does not follow from what the sender knows: another installation gives another', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    await withLaurel(async (laurel) => {
      const other = await laurel.another();
      const first = await flip(laurel.app, 'mallory', 'k');
      // One that started beside the first names the same.
      const replayed = await flip(other.app, 'mallory', 'k');
      expect([first.status, replayed.status, replayed.body.eventId]).toEqual([201, 202, first.body.eventId]);
      ids.push(first.body.eventId);
    });
  }
  const [one, two] = ids;
  expect(one!.slice(0, 13)).toBe(two!.slice(0, 13));
  expect(one!.slice(15)).not.toBe(two!.slice(15));
});
