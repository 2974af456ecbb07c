import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CatchUpTurns } from '../../../src/engine/live/shard-catch-up.ts';
import { Gate } from '../../http/server-fixture.ts';

test('streams of one user catch up one after another, and nobody else waits for them', async () => {
  const turns = new CatchUpTurns();
  const gate = new Gate();
  const done: string[] = [];
  const first = turns.ofHolder('ada', async () => {
    await gate.pass();
    done.push('first');
    throw new Error('the connection to Redis broke');
  });
  const second = turns.ofHolder('ada', async () => void done.push('second'));
  const third = turns.ofHolder('ada', async () => void done.push('third'));
  await turns.ofHolder('bob', async () => void done.push('of bob'));
  expect(done).toEqual(['of bob']);
  gate.release();
  await expect(first).rejects.toThrow('broke');
  await Promise.all([second, third]);
  expect(done).toEqual(['of bob', 'first', 'second', 'third']);
});

test('reads of all users take turns, and the process rests twice as long as each took', async () => {
  const turns = new CatchUpTurns();
  const began: number[] = [];
  const ended: number[] = [];
  const read = async (): Promise<number> => {
    began.push(performance.now());
    await sleep(20);
    ended.push(performance.now());
    return 20;
  };
  await Promise.all([1, 2, 3].map(() => turns.read('a server', read)));
  // A timer may be a millisecond early.
  for (const at of [1, 2]) expect(began[at]! - ended[at - 1]!).toBeGreaterThan(38);
});
