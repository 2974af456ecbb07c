import { expect, test } from 'vitest';
import { SlowReaders } from '../../../src/engine/live/stream-sink.ts';

const MIB = 1_048_576;

test('if more bytes wait than a process may hold, cuts the streams of the holder with the most, the longest stalled first', () => {
  const slow = new SlowReaders();
  const cut: number[] = [];
  const streams = Array.from({ length: 70 }, (_, n) => ({ holder: 'mallory', cut: () => void cut.push(n) }));
  let victimIsCut = false;
  slow.note({ holder: 'victim', cut: () => (victimIsCut = true) }, MIB);
  for (const stream of streams.slice(0, 63)) slow.note(stream, MIB);
  // All take some and have as much to take again: now the victim has waited longest, and stream 1 longer than stream 0.
  for (const stream of streams.slice(1, 63)) slow.note(stream, MIB, true);
  slow.note(streams[0]!, MIB, true);
  slow.note(streams[5]!, 0);
  expect([cut, slow.bytes]).toEqual([[], 63 * MIB]);
  for (const stream of streams.slice(63, 66)) slow.note(stream, MIB);
  expect([cut, victimIsCut, slow.bytes]).toEqual([[1, 2], false, 64 * MIB]);
  slow.note(streams[1]!, 0);
  expect(slow.bytes).toBe(64 * MIB);
});

test('cuts a client that takes nothing for five seconds, but not one that takes some', () => {
  const slow = new SlowReaders();
  const cut: string[] = [];
  const stream = (name: string) => ({ holder: name, cut: () => void cut.push(name) });
  const [deaf, reading] = [stream('deaf'), stream('reading')];
  const nowMs = performance.now();
  slow.note(deaf, 10);
  slow.note(reading, 10);
  slow.check(nowMs + 4_000);
  expect(cut).toEqual([]);
  slow.note(deaf, 20);
  slow.check(performance.now() + 5_001);
  expect(cut).toEqual(['deaf', 'reading']);
  expect(slow.bytes).toBe(0);
});
