import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestOf, formatId, parseId, positionBefore, type ParsedId } from '../../../src/engine/live/message-id.ts';
import { comparePositions } from '../../../src/redis/outbox.ts';

const position = fc
  .tuple(fc.integer({ min: 0, max: 4_000_000_000_000 }), fc.bigInt({ min: 0n, max: 18_446_744_073_709_551_615n }))
  .map(([ms, sequence]) => `${ms}-${sequence}`);
const place = fc.record({
  runDay: fc.integer({ min: -30_000, max: 60_000 }),
  rank: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
  value: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
});
const parsed: fc.Arbitrary<ParsedId> = fc
  .record({
    session: fc.stringMatching(/^[\w-]{22}$/),
    digest: fc.stringMatching(/^[\w-]{8}$/),
    position: fc.record({
      outbox: position,
      announced: position,
      within: fc.option(fc.integer({ min: 0, max: 10_000_000 })),
      boards: position,
      asOfMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
      places: fc
        .array(fc.tuple(fc.integer({ min: 1, max: 1_000_000 }), place), { maxLength: 20 })
        .map((list) => new Map(list)),
    }),
    nth: fc.integer({ min: 0, max: 999_999_999 }),
  })
  .filter(({ position: { boards, outbox } }) => comparePositions(boards, outbox) <= 0);

test('an ID says all that it was made from, in characters that headers and URLs carry', () => {
  fc.assert(
    fc.property(parsed, (given) => {
      const id = formatId(given);
      expect(id).toMatch(/^[\w~:;.+-]+$/);
      expect(parseId(id)).toEqual(given);
    }),
  );
});

test('boards that are ahead of the entries are not believed', () => {
  fc.assert(
    fc.property(parsed, position, (given, boards) => {
      const id = formatId({ ...given, position: { ...given.position, boards } });
      const read = parseId(id)!.position;
      expect(comparePositions(read.boards, read.outbox)).toBeLessThanOrEqual(0);
    }),
  );
});

test('any other text is no ID, and breaks nothing', () => {
  for (const text of ['', 'x', '~~~~~~', '1790000000000-0', `${'a'.repeat(22)}~${'b'.repeat(8)}~~~~~`])
    expect(parseId(text)).toBeNull();
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => void parseId(text)));
  const id = formatId(fc.sample(parsed, { seed: 1, numRuns: 1 })[0]!);
  fc.assert(
    fc.property(fc.nat(id.length - 1), fc.string({ maxLength: 3 }), (at, text) => {
      parseId(id.slice(0, at) + text + id.slice(at + 1));
    }),
  );
});

test('the position before one is before it, with nothing between', () => {
  expect([positionBefore('5-1'), positionBefore('5-0'), positionBefore('0-0')]).toEqual([
    '5-0',
    '4-18446744073709551615',
    '0-0',
  ]);
});

test('data of another tenant, or from before a rebuild, has another digest', () => {
  expect(new Set([digestOf('a:1', 1), digestOf('a:2', 1), digestOf('a:1', 9)]).size).toBe(3);
});
