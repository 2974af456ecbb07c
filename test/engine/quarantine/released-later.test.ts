import { expect, onTestFinished, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { untilPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { makeEventPartition } from '../../../src/postgres/partitions.ts';
import { startLaurel } from '../../laurel.ts';

const DAY_MS = 86_400_000;

test('an event that waited in quarantine for months counts on the day of its release, and is in the timeline', async () => {
  const clock = new FixedClock(Date.now());
  const laurel = await startLaurel({
    clock,
    workers: true,
    configuration: {
      metrics: [{ key: 'steps', name: 'Steps', guards: { maxValue: { limit: 100, action: 'quarantine' } } }],
    },
  });
  onTestFinished(() => laurel.close());
  const send = (value: number) => laurel.app.post('/v1/metrics/steps/event', { user: { id: 'ada' }, value });
  await send(7);
  const { eventId } = (await send(1_000)).body;
  const today = Math.floor(clock.now() / DAY_MS);
  await makeEventPartition(laurel.pool, { firstDay: today + 28, endDay: today + 100 });
  clock.set(clock.now() + 60 * DAY_MS);
  expect((await laurel.admin.post(`/v1/quarantine/${eventId}/release`, undefined)).status).toBe(200);
  await untilPersisted(laurel, 0);
  const date = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
  const summary = await laurel.app.get(
    `/v1/users/ada/metrics/steps/event-summary?aggregation=daily&startDate=${date(today + 59)}&endDate=${date(today + 60)}`,
  );
  expect(summary.body).toEqual([
    { date: date(today + 59), total: 7, change: 0 },
    { date: date(today + 60), total: 1_007, change: 1_000 },
  ]);
  const { body } = await laurel.admin.get('/v1/users/ada/timeline');
  const entries = body.entries.filter(({ kind }: { kind: string }) => kind === 'event');
  expect(entries.map(({ id }: { id: string }) => id)).toContain(eventId);
});
