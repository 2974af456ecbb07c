import { expect, test, vi } from 'vitest';
import { Complaints } from '../src/complaints.ts';

test('a complaint of a kind is made once in a while, and then tells how many there were meanwhile', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const complaints = new Complaints(1_000);
    const said: [string, number][] = [];
    const make = (kind: string): void => complaints.make(kind, (unsaid) => said.push([kind, unsaid]));
    for (const kind of ['a', 'a', 'b', 'a']) make(kind);
    vi.advanceTimersByTime(999);
    make('a');
    expect(said.splice(0)).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
    vi.advanceTimersByTime(1);
    for (const kind of ['a', 'a', 'b']) make(kind);
    expect(said).toEqual([
      ['a', 3],
      ['b', 0],
    ]);
  } finally {
    vi.useRealTimers();
  }
});
