import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GivenStandings } from '../../src/engine/leaderboards/given-standings.ts';
import { jsonInSlices, jsonParts, sortedInSlices } from '../../src/pacing/slices.ts';

test('sorting in slices equals toSorted, also for equal items', async () => {
  const items = fc.array(fc.record({ by: fc.nat(20), no: fc.nat() }), { maxLength: 1_500, size: 'max' });
  await fc.assert(
    fc.asyncProperty(items, async (given) => {
      const compare = (a: { by: number }, b: { by: number }): number => a.by - b.by;
      const before = [...given];
      expect(await sortedInSlices(given, compare)).toEqual(before.toSorted(compare));
      expect(given).toEqual(before);
    }),
    { numRuns: 60 },
  );
});

test('JSON in slices equals JSON.stringify, also for long lists and texts', async () => {
  const unit = fc.constantFrom('x', '"', '\\', '\n', '\ud83d', '\ude00', '\u2028', 'é');
  const text = fc
    .tuple(fc.integer({ min: 131_060, max: 131_080 }), fc.array(unit, { maxLength: 40 }))
    .map(([length, end]) => 'y'.repeat(length) + end.join(''));
  const list = fc.array(fc.record({ no: fc.nat(), name: fc.option(fc.string(), { nil: undefined }) }), {
    maxLength: 300,
    size: 'max',
  });
  const value = fc.oneof(fc.jsonValue(), text, list, fc.dictionary(fc.string(), fc.oneof(list, text, fc.jsonValue())));
  await fc.assert(
    fc.asyncProperty(value, fc.integer({ min: 0, max: 4 }), async (given, depth) => {
      const parts: Buffer[] = [];
      for await (const part of jsonParts(given, depth)) parts.push(Buffer.from(part));
      expect(await jsonInSlices(given, depth)).toBe(JSON.stringify(given));
      expect(Buffer.concat(parts).toString()).toBe(JSON.stringify(given));
    }),
    { numRuns: 300 },
  );
});

const BOARD = { aggregate: 'sum', order: 'descending', ties: null, maxParticipants: null } as never;

test('a large ranking leaves the event loop to others', async () => {
  const members = Array.from({ length: 60_000 }, (_, no) => ({ userId: `team ${no}`, score: 1 }));
  let turns = 0;
  let done = false;
  const other = (): void => {
    turns += 1;
    if (!done) setImmediate(other);
  };
  setImmediate(other);
  await GivenStandings.of(members, BOARD);
  done = true;
  // Sorted at once, it would take one turn. A slice takes a millisecond, and the fastest machine some 20.
  expect(turns).toBeGreaterThan(5);
});

test('equal scores are in descending order of the bytes of the ID, as in Redis', async () => {
  const id = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}') });
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(id, { maxLength: 30 }), async (ids) => {
      const standings = await GivenStandings.of(
        ids.map((userId) => ({ userId, score: 1 })),
        BOARD,
      );
      const wanted = ids.toSorted((a, b) => Buffer.compare(Buffer.from(b), Buffer.from(a)));
      expect((await standings.page(0, 30)).map(({ userId }) => userId)).toEqual(wanted);
    }),
  );
});
