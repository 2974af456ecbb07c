import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Decimal, decimalText, toDecimal } from '../../../src/domain/decimal.ts';
import { dateOf, isoTime } from '../../../src/domain/periods.ts';
import {
  bytesOf,
  copyRows,
  listOf,
  numericText,
  textsOf,
  UnstorableValue,
} from '../../../src/postgres/persist/row-text.ts';
import { testDatabase, type TestDatabase } from '../database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ redis: false });
  await database.pool.query(`
    CREATE TABLE copied (no int PRIMARY KEY, small smallint, large bigint, exact numeric, words text, id uuid, at timestamptz,
                         day date, document jsonb, list int[])`);
});
afterAll(() => database.close());

const whole = fc.oneof(
  fc.integer({ min: -12_000, max: 12_000 }),
  fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
  fc.nat(19).map((power) => 10 ** power),
  // Totals from before they had a bound.
  fc.integer({ min: -90_070, max: 90_070 }).map((units) => units * 1e15),
);
const decimal: fc.Arbitrary<Decimal> = fc
  .tuple(
    whole,
    fc.oneof(
      fc.constant(0),
      fc.nat(999_999),
      fc.nat(5).map((power) => 10 ** power),
    ),
  )
  .map(([units, micros]) => ({ whole: units, micros: units < 0 && micros > 0 ? -micros : micros }));
const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const special = fc.string({
  unit: fc.constantFrom('\\', '\t', '\n', '\r', '\0', 'N', '"', '{', ',', 'é'),
  maxLength: 12,
});

const row = fc.record({
  small: fc.integer({ min: -32_768, max: 32_767 }),
  large: fc.maxSafeInteger(),
  exact: fc.oneof(decimal, fc.double({ min: -1e12, max: 1e12, noNaN: true }).map(toDecimal)),
  words: fc.option(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 400 }), special)),
  id: fc.uuid(),
  // To the end of the years that have four digits.
  at: fc.integer({ min: -60_000_000_000_000, max: 250_000_000_000_000 }),
  day: fc.integer({ min: -700_000, max: 2_900_000 }),
  document: fc.option(fc.dictionary(fc.string({ maxLength: 5 }), fc.integer()), { maxDepth: 1 }),
  list: fc.option(fc.array(int, { minLength: 1, maxLength: 4 })),
});

const withoutNul = (text: string | null): string | null => text?.replaceAll('\0', '\uFFFD') ?? null;

test('copied rows equal the input', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 30 }), async (rows) => {
      const json = (document: object | null): string | null =>
        document && JSON.stringify(document).replaceAll('\\u0000', '');
      const client = await database.pool.connect();
      try {
        await client.query('TRUNCATE copied');
        await copyRows(
          client,
          'COPY copied FROM STDIN',
          rows,
          ({ small, large, exact, words, id, at, day, document, list }, no) => [
            no,
            small,
            large,
            numericText(exact),
            words,
            id.replaceAll('-', ''),
            isoTime(at),
            dateOf(day),
            json(document),
            list && listOf(list),
          ],
        );
      } finally {
        client.release();
      }
      const found = await database.pool.query(
        `SELECT small, large, exact::text, words, id::text, (extract(epoch FROM at) * 1000)::bigint AS at,
                day - DATE '1970-01-01' AS day, document, list FROM copied ORDER BY no`,
      );
      expect(found.rows).toEqual(
        rows.map(({ small, large, exact, words, id, at, day, document, list }) => ({
          small,
          large,
          exact: decimalText(exact),
          words: withoutNul(words),
          id,
          at,
          day,
          document: JSON.parse(json(document) ?? 'null'),
          list,
        })),
      );
    }),
    { numRuns: 40 },
  );
});

/** Postgres's text form of an array's members. */
async function read(type: string, array: string | Buffer): Promise<(string | null)[]> {
  const { rows } = await database.pool.query<{ value: string | null }>(
    `SELECT value::text AS value FROM unnest($1::${type}[]) WITH ORDINALITY AS given (value, nth) ORDER BY nth`,
    [array],
  );
  return rows.map(({ value }) => value);
}

test('arrays equal the input', async () => {
  const words = ['', 'a,"b"\\', '{NULL}', 'NULL', null, 'Zürich 🌍', ' long '.repeat(50), 'a\0\n'];
  expect(await read('text', textsOf(words))).toEqual(words.map(withoutNul));
  expect(await read('jsonb', textsOf(['{"a": "\\"\\\\"}', '{}']))).toEqual(['{"a": "\\"\\\\"}', '{}']);
  expect(await read('bigint', listOf([1, null, -(2 ** 53) + 1]))).toEqual(['1', null, String(-(2 ** 53) + 1)]);
  expect(await read('bytea', bytesOf([Buffer.from([0, 255]), Buffer.alloc(0)]))).toEqual(['\\x00ff', '\\x']);
});

test('refuses NaN, which Postgres would store', () => {
  expect(() => numericText({ whole: Number.NaN, micros: 0 })).toThrow(UnstorableValue);
});

test('a row may begin with an empty text, and no rows are no statement', async () => {
  await database.pool.query('CREATE TABLE worded (words text, no int)');
  const client = await database.pool.connect();
  try {
    await copyRows(client, 'COPY worded FROM STDIN', ['', 'a', null], (words, no) => [words, no]);
    await copyRows(client, 'COPY nothing FROM STDIN', [], () => []);
  } finally {
    client.release();
  }
  const { rows } = await database.pool.query('SELECT words FROM worded ORDER BY no');
  expect(rows.map(({ words }: { words: string | null }) => words)).toEqual(['', 'a', null]);
});
