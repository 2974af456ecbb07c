import { expect, onTestFinished, test, vi } from 'vitest';
import { SharedRuns } from '../../src/pacing/shared-runs.ts';

interface Begun {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Runs that end when the test says so. */
function heldRuns(): { runs: SharedRuns<void>; begun: Begun[] } {
  const begun: Begun[] = [];
  const work = (): Promise<void> => new Promise((resolve, reject) => void begun.push({ resolve, reject }));
  return { runs: new SharedRuns(work, { everyMs: 0 }), begun };
}

test('one next run answers all calls made during a run', async () => {
  const { runs, begun } = heldRuns();
  const first = runs.run();
  await expect.poll(() => begun.length).toBe(1);
  let answered = 0;
  const later = Promise.all(Array.from({ length: 50 }, () => runs.run().then(() => (answered += 1))));
  begun[0]!.resolve();
  await first;
  await expect.poll(() => begun.length).toBe(2);
  expect(answered).toBe(0);
  begun[1]!.resolve();
  await later;
  expect(begun).toHaveLength(2);
});

test('a failing run fails only for its own callers', async () => {
  const { runs, begun } = heldRuns();
  const first = runs.run();
  await expect.poll(() => begun.length).toBe(1);
  const second = runs.run();
  begun[0]!.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.resolve();
  await second;
});

test('runs begin at least this far apart', async () => {
  const now = performance.now.bind(performance);
  // A run's time is the last one that `SharedRuns` read: the process may stand still before a reading of the test's own.
  let readMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (readMs = now()));
  onTestFinished(() => clock.mockRestore());
  const begunMs: number[] = [];
  const runs = new SharedRuns(async () => void begunMs.push(readMs), { everyMs: 30 });
  for (let n = 0; n < 3; n += 1) await runs.run();
  // A timer may be early by a millisecond.
  expect(begunMs[2]! - begunMs[0]!).toBeGreaterThan(50);
});
