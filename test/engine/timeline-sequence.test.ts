import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Happening } from '../../src/engine/timeline/happening.ts';
import { inSequence } from '../../src/engine/timeline/sequence.ts';

type Part = {
  metric?: [no: number, value: number, total: number];
  systems?: [no: number, awarded: number, total: number][];
};

/** A happening with the fields that the sequence depends on. */
const happening = (position: string, { metric, systems = [] }: Part): Happening =>
  ({
    position,
    event: metric === undefined ? null : { metricNo: metric[0], value: metric[1], total: metric[2] },
    recomputation: null,
    awards: systems.map(([systemNo, awarded, total]) => ({ systemNo, awarded, total })),
    completions: [],
  }) as unknown as Happening;

test('awards in the order of their totals, whatever the positions say', () => {
  const totals = [1105, 1115, 1135, 1145];
  const given = totals.map((total, index) =>
    happening(`${(index * 7) % 4}`, { systems: [[1, total - (totals[index - 1] ?? 1100), total]] }),
  );
  expect(inSequence(given.toReversed())).toEqual(given.map(({ position }) => position));
});

test('several awards of one event, several systems and metrics, and what nothing connects', () => {
  const first = happening('c', {
    metric: [1, 2, 2],
    systems: [
      [1, 10, 10],
      [1, 5, 15],
    ],
  });
  const second = happening('a', {
    metric: [2, 1, 1],
    systems: [
      [1, 5, 20],
      [2, 7, 7],
    ],
  });
  const third = happening('b', { metric: [1, -2, 0], systems: [[2, -7, 0]] });
  const alone = happening('d', {});
  expect(inSequence([alone, third, second, first])).toEqual(['c', 'a', 'b', 'd']);
  expect(inSequence([])).toEqual([]);
});

test('a gap in the totals leaves the lower part first', () => {
  const given = [happening('b', { metric: [1, 1, 1] }), happening('a', { metric: [1, 1, 9] })];
  expect(inSequence(given)).toEqual(['b', 'a']);
});

test('random histories: each total begins where the one before ended, also if the last is the first again', () => {
  const history = fc.array(fc.record({ value: fc.integer({ min: -3, max: 3 }), of: fc.uuid() }), { maxLength: 40 });
  fc.assert(
    fc.property(history, fc.integer({ min: -5, max: 5 }), (steps, start) => {
      let total = start / 10;
      const given = steps.map(({ value, of }, index) => {
        total += value / 10;
        return happening(`${of}${index}`, { metric: [1, value / 10, total] });
      });
      const sequence = inSequence(given.toSorted((a, b) => (a.position < b.position ? -1 : 1)));
      expect(sequence.toSorted()).toEqual(given.map(({ position }) => position).toSorted());
      const events = sequence.map((position) => given.find((one) => one.position === position)!.event!);
      for (const [index, { value, total: end }] of events.entries())
        if (index > 0) expect(end - value).toBeCloseTo(events[index - 1]!.total, 9);
      const [first] = events;
      if (first !== undefined && Math.abs(total - start / 10) > 0.01)
        expect(first.total - first.value).toBeCloseTo(start / 10, 9);
    }),
  );
});
