import { expect, test } from 'vitest';
import { rounds } from '../../src/pacing/rounds.ts';

const AN_HOUR_MS = 3_600_000;

test('a round begins at once, and the next one at the time that the previous one returned', async () => {
  let count = 0;
  const running = rounds(async () => ((count += 1) < 3 ? 0 : AN_HOUR_MS));
  await expect.poll(() => count).toBe(3);
  await running.close();
});

test('a wake-up brings the next round forward, even during a round', async () => {
  let count = 0;
  const held: (() => void)[] = [];
  const running = rounds(async () => {
    count += 1;
    await new Promise<void>((resolve) => held.push(resolve));
    return AN_HOUR_MS;
  });
  const next = async (): Promise<void> => {
    await expect.poll(() => held.length).toBe(1);
    held.pop()!();
  };
  await next();
  running.wake(1);
  await expect.poll(() => count).toBe(2);
  running.wake();
  await next();
  await expect.poll(() => count).toBe(3);
  await next();
  await running.close();
  expect(count).toBe(3);
});

test('a later wake-up does not delay an earlier one, and no round follows the end', async () => {
  let count = 0;
  const running = rounds(async () => {
    count += 1;
    return AN_HOUR_MS;
  });
  await expect.poll(() => count).toBe(1);
  running.wake(10);
  running.wake(AN_HOUR_MS / 2);
  await expect.poll(() => count).toBe(2);
  await running.close();
  running.wake();
  await new Promise((resolve) => setImmediate(resolve));
  expect(count).toBe(2);
});
