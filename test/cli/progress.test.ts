import { expect, test } from 'vitest';
import { type CliProgress, progressText } from '../../src/cli/command.ts';

const sent = (done: number, total: number | null): CliProgress => ({ step: 'events sent', done, total });

test.each<[CliProgress, number, string]>([
  [sent(3_000, 10_000), 12_000, 'events sent: 3,000 of 10,000 (12.0 s, 250 per second, 28 s left)'],
  // The total of standard input is unknown.
  [sent(3_000, null), 12_000, 'events sent: 3,000 (12.0 s, 250 per second)'],
  [sent(10_000, 10_000), 40_000, 'events sent: 10,000 of 10,000 (40.0 s, 250 per second)'],
  [sent(1, 10), 8_000, 'events sent: 1 of 10 (8.0 s, 0.13 per second, 72 s left)'],
  [sent(0, 10), 5_000, 'events sent: 0 of 10 (5.0 s)'],
  // Postgres's estimate of a table that it has not analysed.
  [sent(5, 0), 1_000, 'events sent: 5 (1.0 s, 5 per second)'],
  [sent(5, 10), 0, 'events sent: 5 of 10 (0.0 s)'],
])('progress %j after %d ms', (progress, elapsedMs, text) => {
  expect(progressText(progress, elapsedMs)).toBe(text);
});
