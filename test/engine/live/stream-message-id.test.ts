import { createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  digestOf,
  MessageIds,
  type ParsedId,
  type PartPosition,
  positionBefore,
} from '../../../src/engine/live/stream-message-id.ts';
import { SHARDS } from '../../../src/redis/keys.ts';
import { comparePositions } from '../../../src/redis/outbox.ts';
import { IDS, read } from './listening.ts';

const position = fc
  .tuple(fc.integer({ min: 0, max: 4_000_000_000_000 }), fc.bigInt({ min: 0n, max: 18_446_744_073_709_551_615n }))
  .map(([ms, sequence]) => `${ms}-${sequence}`);
const place = fc.record({
  runDay: fc.integer({ min: -30_000, max: 60_000 }),
  rank: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
  value: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
});
const part: fc.Arbitrary<PartPosition> = fc
  .record({
    outbox: position,
    announced: position,
    within: fc.option(fc.integer({ min: 0, max: 10_000_000 })),
    boards: position,
  })
  .filter(({ boards, outbox }) => comparePositions(boards, outbox) <= 0);
const parsed: fc.Arbitrary<ParsedId> = fc.record({
  session: fc.stringMatching(/^[\w-]{22}$/),
  digest: fc.stringMatching(/^[\w-]{8}$/),
  position: fc.record({
    parts: fc.array(part, { minLength: 1, maxLength: 4 }),
    asOfMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    places: fc
      .array(fc.tuple(fc.integer({ min: 1, max: 1_000_000 }), place), { maxLength: 20 })
      .map((list) => new Map(list)),
  }),
  nth: fc.integer({ min: 0, max: 999_999_999 }),
});

test('an ID contains everything it was made from, in characters that headers and URLs carry', () => {
  fc.assert(
    fc.property(parsed, (given) => {
      const id = IDS.format(given);
      expect(id).toMatch(/^[\w~:;.+-]+$/);
      expect(IDS.parse(id)).toEqual({ session: given.session, authentic: given });
    }),
  );
});

test('does not trust leaderboards that are ahead of the entries', () => {
  fc.assert(
    fc.property(parsed, position, (given, boards) => {
      const parts = given.position.parts.map((each) => ({ ...each, boards }));
      const id = IDS.format({ ...given, position: { ...given.position, parts } });
      for (const at of read(id).position.parts) expect(comparePositions(at.boards, at.outbox)).toBeLessThanOrEqual(0);
    }),
  );
});

test('the ID of a tenant on all shards, of whose events the client missed much, is one', () => {
  const missed = { outbox: '1790000000000-99', announced: '1789999999999-12', within: 10, boards: '1789999999999-99' };
  const given: ParsedId = {
    session: 's'.repeat(22),
    digest: 'd'.repeat(8),
    position: { parts: Array.from({ length: SHARDS }, () => missed), asOfMs: 1_790_000_000_000, places: new Map() },
    nth: 0,
  };
  expect(read(IDS.format(given))).toEqual(given);
});

test('any other text is no ID, and breaks nothing', () => {
  for (const text of ['', 'x', '~~~~~~', '1790000000000-0', `${'a'.repeat(22)}~${'b'.repeat(8)}~~~~~`])
    expect(IDS.parse(text)?.authentic ?? null).toBeNull();
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => void IDS.parse(text)));
  const id = IDS.format(fc.sample(parsed, { seed: 1, numRuns: 1 })[0]!);
  fc.assert(
    fc.property(fc.nat(id.length - 1), fc.string({ maxLength: 3 }), (at, text) => {
      const changed = id.slice(0, at) + text + id.slice(at + 1);
      if (changed !== id) expect(IDS.parse(changed)?.authentic ?? null).toBeNull();
    }),
  );
});

test('a changed ID, or one made with another key, only says whose stream it claims to be from', () => {
  const others = new MessageIds(createSecretKey(Buffer.alloc(32, 8)));
  fc.assert(
    fc.property(parsed, (given) => {
      const id = IDS.format(given);
      const forged = others.format(given);
      expect(forged).not.toBe(id);
      for (const one of [forged, id.replace(`~${given.digest}~`, `~${'-'.repeat(8)}~`), `${id}A`, id.slice(0, -1)])
        if (one !== id) expect(IDS.parse(one)).toEqual({ session: given.session, authentic: null });
    }),
  );
});

test('the position before another is before it, with nothing between', () => {
  expect([positionBefore('5-1'), positionBefore('5-0'), positionBefore('0-0')]).toEqual([
    '5-0',
    '4-18446744073709551615',
    '0-0',
  ]);
});

test('data of another tenant, or from before a rebuild, has another digest', () => {
  expect(new Set([digestOf(['a:1'], 1), digestOf(['a:2'], 1), digestOf(['a:1'], 9)]).size).toBe(3);
});
