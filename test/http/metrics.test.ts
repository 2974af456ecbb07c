import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

let laurel: TestLaurel;
beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
});
afterAll(() => laurel.close());

test('the admin port shows what waits for Postgres; the application port does not', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'u' }, value: 1 });
  const read = await fetch(`${laurel.adminUrl}/metrics`);
  expect(read.headers.get('Content-Type')).toContain('text/plain');
  const text = await read.text();
  expect(text).toMatch(/^laurel_outbox_entries 1$/m);
  expect(text).toMatch(/^laurel_persist_lag_seconds [\d.e-]+$/m);
  expect((await fetch(`${laurel.appUrl}/metrics`)).status).toBe(404);
});

test('the metrics of the process are measured when they are asked for, not by a timer that wakes it at rest', async () => {
  const text = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
  expect(text).toMatch(/^nodejs_eventloop_utilization [\d.e-]+$/m);
  expect(text).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
  expect(text).not.toContain('nodejs_eventloop_lag_p99_seconds');
});
