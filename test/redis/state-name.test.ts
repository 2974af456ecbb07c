import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { expect, test } from 'vitest';
import { nameInState } from '../../src/redis/state-name.ts';

const packr = new Packr({ useRecords: false, variableMapSize: true });

/** Anything that a state may hold, long and nested, names of fields that begin like the name's besides. */
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    fc.string({ unit: 'binary', maxLength: 50 }),
    fc.constantFrom('n'.repeat(300), 'é'.repeat(40_000)),
    fc.array(tie('any'), { maxLength: 20 }),
    fc.dictionary(fc.constantFrom('n', '1', 'nn', 'm'), tie('any')),
  ),
})).any;
const fields = fc.dictionary(fc.oneof(fc.constantFrom('c', 'm', 'np', 'nn', ''), fc.string({ maxLength: 40 })), value, {
  maxKeys: 20,
});

test('the name is found wherever it stands, and what only looks like it is not taken for it', () => {
  fc.assert(
    fc.property(fields, fields, fc.option(fc.string({ unit: 'binary', maxLength: 300 })), (before, after, name) => {
      delete before['n'];
      delete after['n'];
      const state = { ...before, ...(name !== null && { n: name }), ...after };
      expect(nameInState(packr.pack(state))).toBe(name);
    }),
  );
});

test('what is no state is refused', () => {
  expect(() => nameInState(packr.pack([1, 2]))).toThrow();
});
