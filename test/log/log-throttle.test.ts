import { expect, test, vi } from 'vitest';
import { LogThrottle } from '../../src/telemetry/log.ts';

test('logs a line of one kind once per interval, and then reports the number left out', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const logThrottle = new LogThrottle(1_000);
    const said: [string, number][] = [];
    const make = (kind: string): void => logThrottle.log(kind, (suppressed) => said.push([kind, suppressed]));
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
