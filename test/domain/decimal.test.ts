import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalNumber, decimalText, toDecimal } from '../../src/domain/decimal.ts';

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

test('a value of up to six places and fifteen digits comes back as it was', () => {
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
