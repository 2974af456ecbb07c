import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Decimal, decimalText, toDecimal } from '../../../src/domain/decimal.ts';
import { BinaryRows, copyRows, UnstorableValue } from '../../../src/postgres/persist/binary-rows.ts';
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

const row = fc.record({
  small: fc.integer({ min: -32_768, max: 32_767 }),
  large: fc.maxSafeInteger(),
  exact: fc.oneof(decimal, fc.double({ min: -1e12, max: 1e12, noNaN: true }).map(toDecimal)),
  words: fc.option(fc.string({ unit: 'grapheme', maxLength: 400 })),
  id: fc.uuid(),
  // To the end of the years that a Date can hold and Postgres prints with four digits.
  at: fc.integer({ min: -60_000_000_000_000, max: 250_000_000_000_000 }),
  day: fc.integer({ min: -700_000, max: 2_900_000 }),
  document: fc.option(fc.dictionary(fc.string({ maxLength: 5 }), fc.integer()), { maxDepth: 1 }),
  list: fc.option(fc.array(int, { minLength: 1, maxLength: 4 })),
});

test('rows copied in binary format equal the input', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 30 }), async (rows) => {
      const given = new BinaryRows(0);
      for (const [no, { small, large, exact, words, id, at, day, document, list }] of rows.entries()) {
        given.row(10).int4(no).int2(small).int8(large).numeric(exact).text(words).uuid(id.replaceAll('-', ''));
        given
          .timestamptz(at)
          .date(day)
          .jsonb(document && JSON.stringify(document).replaceAll('\\u0000', ''));
        if (list === null) given.null();
        else given.int4Array(list);
      }
      const client = await database.pool.connect();
      try {
        await client.query('TRUNCATE copied');
        await copyRows(client, 'COPY copied FROM STDIN (FORMAT binary)', given.finish());
      } finally {
        client.release();
      }
      const found = await database.pool.query(
        `SELECT small, large, exact::text, words, id::text, (extract(epoch FROM at) * 1000)::bigint AS at,
                day - DATE '1970-01-01' AS day, list FROM copied ORDER BY no`,
      );
      expect(found.rows).toEqual(
        rows.map(({ small, large, exact, words, id, at, day, list }) => ({
          small,
          large,
          exact: decimalText(exact),
          words: words?.replaceAll('\0', '\uFFFD') ?? null,
          id,
          at,
          day,
          list,
        })),
      );
    }),
    { numRuns: 40 },
  );
});

test.each([
  ['a 16-bit integer', (rows: BinaryRows) => rows.int2(40_000)],
  ['a 32-bit integer', (rows: BinaryRows) => rows.int4(3_000_000_000)],
  ['a whole number', (rows: BinaryRows) => rows.int4(1.5)],
  ['an exact integer', (rows: BinaryRows) => rows.int8(2 ** 53)],
  ['a finite decimal', (rows: BinaryRows) => rows.numeric({ whole: Number.NaN, micros: 0 })],
  ['an ID', (rows: BinaryRows) => rows.uuid('no hex')],
])('refuses what is not %s', (_, add) => {
  expect(() => add(new BinaryRows(0).row(1))).toThrow(UnstorableValue);
});
