import { expect, onTestFinished, test, vi } from 'vitest';
import { createLateTurns } from '../../../src/engine/corrections/late-turns.ts';

/** Work that ends on demand. */
function held(): { work: () => Promise<void>; end: () => void } {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { work: () => ended, end };
}

test('late events of one user run one after another, and leave room for those of others', async () => {
  const turns = createLateTurns();
  const first = held();
  const done: number[] = [];
  const all = [turns.run(0, 'ada', first.work)];
  const refused: unknown[] = [];
  for (let no = 1; no < 256; no++)
    all.push(
      turns
        .run(0, 'ada', async () => void done.push(no))
        .catch((error: { status: number }) => void refused.push(error.status)),
    );
  await turns.run(0, 'bob', async () => undefined);
  expect(done).toEqual([]);
  first.end();
  await Promise.all(all);
  expect(done).toEqual(Array.from({ length: 63 }, (_, index) => index + 1));
  expect(refused).toEqual(Array(192).fill(503));
  // When they are done there is room again.
  await turns.run(0, 'ada', async () => void done.push(0));
  expect(done.at(-1)).toBe(0);
});

test('a tenant has a maximum number at a time, over all its users; another tenant has its own', async () => {
  const turns = createLateTurns();
  const first = held();
  const all = Array.from({ length: 256 }, (_, no) => turns.run(0, `user ${no}`, first.work));
  await expect(turns.run(0, 'one more', async () => undefined)).rejects.toMatchObject({ status: 503 });
  await turns.run(1, 'elsewhere', async () => undefined);
  first.end();
  await Promise.all(all);
  await turns.run(0, 'one more', async () => undefined);
});

test('refuses at once those whose turn comes too late, without running them', async () => {
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const turns = createLateTurns(500);
  const first = held();
  const done: number[] = [];
  const waiting = [1, 2, 3].map((no) => turns.run(0, 'ada', async () => void done.push(no)));
  const blocking = turns.run(0, 'ada', first.work);
  const late = [4, 5].map((no) => turns.run(0, 'ada', async () => void done.push(no)));
  await Promise.all(waiting);
  const outcomes = Promise.allSettled(late);
  nowMs += 501;
  first.end();
  await blocking;
  expect(await outcomes).toMatchObject([4, 5].map(() => ({ status: 'rejected', reason: { status: 503 } })));
  expect(done).toEqual([1, 2, 3]);
  await turns.run(0, 'ada', async () => void done.push(6));
  expect(done.at(-1)).toBe(6);
});
