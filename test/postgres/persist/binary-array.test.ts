import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  binaryArray,
  binaryBigIntegers,
  binaryDecimals,
  binaryIntegers,
  binaryUuids,
  TEXT,
  UnstorableValue,
} from '../../../src/postgres/persist/binary-rows.ts';
import { testDatabase, type TestDatabase } from '../database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ redis: false });
});
afterAll(() => database.close());

/** Postgres's text form of an array. */
async function read(type: string, array: Buffer): Promise<(string | null)[]> {
  const { rows } = await database.pool.query<{ value: string | null }>(
    `SELECT value::text AS value FROM unnest($1::${type}[]) WITH ORDINALITY AS given (value, nth) ORDER BY nth`,
    [array],
  );
  return rows.map(({ value }) => value);
}

const texts = (values: readonly (number | null)[]): (string | null)[] =>
  values.map((value) => (value === null ? null : String(value)));
const some = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { minLength: 1, maxLength: 20 });

test('integers equal the input, including missing ones', async () => {
  await fc.assert(
    fc.asyncProperty(
      some(fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }))),
      some(fc.option(fc.maxSafeInteger())),
      async (small, large) => {
        expect(await read('int', binaryIntegers(small))).toEqual(texts(small));
        expect(await read('bigint', binaryBigIntegers(large))).toEqual(texts(large));
      },
    ),
    { numRuns: 40 },
  );
});

test('texts equal the input', async () => {
  const values = ['', 'a,"b"\\', '{NULL}', 'NULL', null, 'Zürich 🌍', 'long '.repeat(50)];
  expect(await read('text', binaryArray(TEXT, values))).toEqual(values);
});

test('IDs and decimals equal the input', async () => {
  const ids = ['0192f0c1a2b37def8899aabbccddeeff', 'FF'.repeat(16)];
  const shown = ids.map((id) => id.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'));
  expect(await read('uuid', binaryUuids(ids))).toEqual(shown);
  const decimals = [
    { whole: 0, micros: 0 },
    { whole: -12_345, micros: -670_000 },
    { whole: 10_000, micros: 1 },
  ];
  expect(await read('numeric', binaryDecimals(decimals))).toEqual(['0', '-12345.67', '10000.000001']);
});

test.each([
  ['an ID', () => binaryUuids(['0192f0c1-a2b3-7def-8899-aabbccddeeff'])],
  ['of hex digits', () => binaryUuids(['0192f0c1a2b37def8899aabbccddeefg'])],
  ['a 32-bit integer', () => binaryIntegers([1, 2 ** 31])],
  ['a whole number', () => binaryBigIntegers([1.5])],
  ['an exact integer', () => binaryBigIntegers([null, 2 ** 53])],
])('refuses what is not %s', (_, array) => {
  expect(array).toThrow(UnstorableValue);
});
