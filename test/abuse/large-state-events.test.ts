import { expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

// A user whose state is large costs the workers and Postgres more with each event than the event itself.
const KEYS = Array.from({ length: 20 }, (_, no) => `a${no}`);
const laurel = opened(() =>
  startLaurel({
    configuration: {
      metrics: [{ key: 'flips', name: 'Flips' }],
      attributes: KEYS.map((key) => ({ key, name: key, type: 'user' as const })),
    },
  }),
);

/** Seconds of storage that events were charged so far. */
async function charged(): Promise<number> {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  const line = /^laurel_operation_cost_seconds_total\{.*operation="metrics_event",resource="storage"\} (\S+)/m.exec(
    text,
  );
  return Number(line?.[1] ?? 0);
}

async function send(userId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const { status } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: userId }, value: 1 });
    expect(status).toBe(201);
  }
}

test('events of a user with a large state are charged for storing it, others for the usual', async () => {
  const attributes = Object.fromEntries(KEYS.map((key) => [key, 'x'.repeat(1_000)]));
  expect((await laurel.app.put('/v1/users/large', { attributes })).status).toBe(200);
  const before = await charged();
  await send('large', 10);
  const afterLarge = await charged();
  // 0.2 ms for each KB of the state, of each event.
  expect(afterLarge - before).toBeGreaterThan(10 * 0.004);
  await send('small', 80);
  // 0.2 ms of each.
  expect((await charged()) - afterLarge).toBeCloseTo(80 * 0.0002, 3);
});
