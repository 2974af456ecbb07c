import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clamped, decimalNumber, decimalText, parseDecimal, toDecimal } from '../../src/domain/decimal.ts';

test.each([
  [0.1, '0.1'],
  [-0.1, '-0.1'],
  [-0, '0'],
  [1e12, '1000000000000'],
  [-1e12, '-1000000000000'],
  [123456789.123456, '123456789.123456'],
  [0.0000005, '0.000001'],
  [0.00000049, '0'],
  [-0.0000001, '0'],
  [0.9999999, '1'],
  [1.0000005, '1.000001'],
  [100000000000.1, '100000000000.1'],
  [1e-7, '0'],
])('%d is %s', (value, text) => expect(decimalText(toDecimal(value))).toBe(text));

test('restores a value of up to six places and fifteen digits', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -999_999_999, max: 999_999_999 }),
      fc.integer({ min: 0, max: 999_999 }),
      (whole, micros) => {
        const value = Number(`${whole}.${String(micros).padStart(6, '0')}`);
        expect(decimalNumber(toDecimal(value))).toBe(value === 0 ? 0 : value);
      },
    ),
  );
});

test.each(['0', '-0.5', '0.000001', '999999999999.999999', '-999999999999999.999999', '12'])(
  'reads %s exactly',
  (text) => expect(decimalText(parseDecimal(text))).toBe(text),
);

test.each([
  ['999999999999999.999999', '999999999999999.999999'],
  ['1000000000000000', '999999999999999'],
  ['-99999999999999999999.5', '-999999999999999'],
])('truncates %s at %s', (text, kept) => expect(decimalText(clamped(parseDecimal(text)))).toBe(kept));
