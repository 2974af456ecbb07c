import { expect, test } from 'vitest';
import { SlowReaders } from '../../../src/engine/live/slow-readers.ts';

const MIB = 1_048_576;

test('where more waits than a process may hold, those are cut that took nothing for the longest time', () => {
  const slow = new SlowReaders();
  const cut: number[] = [];
  const holders = Array.from({ length: 70 }, (_, n) => ({ cut: () => void cut.push(n) }));
  for (const holder of holders.slice(0, 64)) slow.note(holder, MIB);
  // The first takes some and has as much to take again: the second waits longer.
  slow.note(holders[0]!, MIB, true);
  slow.note(holders[5]!, 0);
  expect([cut, slow.bytes]).toEqual([[], 63 * MIB]);
  for (const holder of holders.slice(64, 67)) slow.note(holder, MIB);
  expect([cut, slow.bytes]).toEqual([[1, 2], 64 * MIB]);
  slow.note(holders[1]!, 0);
  expect(slow.bytes).toBe(64 * MIB);
});

test('a client that takes nothing for five seconds is cut, one that takes some is not', () => {
  const slow = new SlowReaders();
  const cut: string[] = [];
  const holder = (name: string) => ({ cut: () => void cut.push(name) });
  const [deaf, reading] = [holder('deaf'), holder('reading')];
  const nowMs = performance.now();
  slow.note(deaf, 10);
  slow.note(reading, 10);
  slow.look(nowMs + 4_000);
  expect(cut).toEqual([]);
  slow.note(deaf, 20);
  slow.look(performance.now() + 5_001);
  expect(cut).toEqual(['deaf', 'reading']);
  expect(slow.bytes).toBe(0);
});
