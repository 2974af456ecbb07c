import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StartSteps } from '../../src/processes/first-start.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a step shows its begin, what it waits for, and its duration; a failed one is not shown as done', async () => {
  const lines: string[] = [];
  const steps = new StartSteps(2, (line) => void lines.push(line));
  const first = steps.run(
    { name: 'Servers', waitsFor: 'Redis to answer' },
    () => new Promise((resolve) => setTimeout(() => resolve('there'), 12_000)),
  );
  await vi.advanceTimersByTimeAsync(12_000);
  expect(await first).toBe('there');
  await expect(
    steps.run({ name: 'Database', waitsFor: 'Postgres' }, () => Promise.reject(new Error('refused'))),
  ).rejects.toThrow('refused');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual([
    '[1/2] Servers …',
    '      waiting for Redis to answer (5 s)',
    '      waiting for Redis to answer (10 s)',
    '[1/2] Servers: 12.0 s',
    '[2/2] Database …',
  ]);
});
