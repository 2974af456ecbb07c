import { expect, test } from 'vitest';
import { changedFields } from '../../console/src/screens/changed-fields.ts';

const NAMES = new Map([['m1', { text: 'Flashcards flipped' }]]);
const change = (before: object, after: object) =>
  changedFields({ before: before as Record<string, unknown>, after: after as Record<string, unknown> }, NAMES);

test.each([
  [{ price: 1_000 }, { price: 300 }, ['price: 1,000 → 300']],
  [{ metricId: null }, { metricId: 'm1' }, ['metric: none → Flashcards flipped']],
  [{ endDate: '2026-03-01' }, { endDate: '2026-03-07' }, ['end date: Mar 1, 2026 → Mar 7, 2026']],
  [{ secret: true, key: 'a' }, { secret: false, key: 'a' }, ['secret: yes → no']],
  [{ events: ['a', 'b'] }, { events: [] }, ['events: a, b → none']],
  [
    { guards: { maxValue: { limit: 5, action: 'refuse' }, maxTotal: { limit: 9 } } },
    { guards: { maxValue: { limit: 7, action: 'refuse' }, maxTotal: { limit: 9 } } },
    ['guards max value limit: 5 → 7'],
  ],
  [{ guards: null }, { guards: { maxValue: { limit: 5 } } }, ['guards: none → (max value: (limit: 5))']],
  [{ html: 'x' }, { html: 'y'.repeat(500) }, [`html: x → ${'y'.repeat(120)} …`]],
])('from %j to %j', (before, after, lines) => expect(change(before, after)).toEqual(lines));

test('a new and a deleted resource have one value', () => {
  expect(changedFields({ after: { name: 'Mug', price: 5 } }, NAMES)).toEqual(['name: Mug', 'price: 5']);
  expect(changedFields({ before: { name: 'Mug' } }, NAMES)).toEqual(['name: Mug']);
});
