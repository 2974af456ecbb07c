import { expect, test } from 'vitest';
import { CostlyReads } from '../../../src/engine/analytics/costly-reads.ts';

/** Reads that the test ends. */
function controlled() {
  const reads = new CostlyReads();
  const begun: string[] = [];
  const ends = new Map<string, { resolve: (called: string) => void; reject: (error: Error) => void }>();
  const run = (tenantNo: number, name: string): Promise<string> =>
    reads.run(tenantNo, name, () => {
      const called = `${tenantNo} ${name} ${begun.length}`;
      begun.push(called);
      return new Promise<string>((resolve, reject) => {
        ends.set(called, { resolve, reject });
      });
    });
  const begins = (called: string): Promise<void> => expect.poll(() => begun, { interval: 1 }).toContain(called);
  return { run, begun, begins, end: (called: string) => ends.get(called)!.resolve(called), ends };
}

test('a tenant has one costly read at a time; other tenants do not wait for it', async () => {
  const { run, begun, begins, end } = controlled();
  const first = run(1, 'a');
  const second = run(1, 'b');
  const other = run(2, 'a');
  await begins('2 a 1');
  expect(begun).toEqual(['1 a 0', '2 a 1']);
  end('1 a 0');
  await begins('1 b 2');
  end('1 b 2');
  end('2 a 1');
  expect(await Promise.all([first, second, other])).toEqual(['1 a 0', '1 b 2', '2 a 1']);
});

test('equal reads that wait share one that begins after their calls', async () => {
  const { run, begun, begins, end } = controlled();
  const first = run(1, 'a');
  await begins('1 a 0');
  const later = [run(1, 'a'), run(1, 'a'), run(1, 'a')];
  end('1 a 0');
  await begins('1 a 1');
  end('1 a 1');
  expect(await first).toBe('1 a 0');
  expect(await Promise.all(later)).toEqual(['1 a 1', '1 a 1', '1 a 1']);
  expect(begun).toHaveLength(2);
});

test('a read that fails rejects for its callers and lets the next begin', async () => {
  const { run, begins, end, ends } = controlled();
  const failing = [run(1, 'a'), run(1, 'a')].map((each) => expect(each).rejects.toThrow('broken'));
  const next = run(1, 'b');
  await begins('1 a 0');
  ends.get('1 a 0')!.reject(new Error('broken'));
  await Promise.all(failing);
  await begins('1 b 1');
  end('1 b 1');
  expect(await next).toBe('1 b 1');
});
