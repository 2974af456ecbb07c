import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { type Decimal, decimalText, toDecimal } from '../../src/domain/decimal.ts';
import { columns } from '../../src/postgres/columns.ts';
import { bytesOf, listOf, numericText, textsOf, UnstorableValue } from '../../src/postgres/row-text.ts';
import { testDatabase } from './database.ts';
import { opened } from '../stack/opened.ts';

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  await database.pool.query(`
    CREATE TABLE copied (no int PRIMARY KEY, small smallint, large bigint, exact numeric, words text, id uuid, at timestamptz,
                         day date, document jsonb, list int[])`);
});

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
  atMs: fc.integer({ min: -60_000_000_000_000, max: 250_000_000_000_000 }),
  day: fc.integer({ min: -700_000, max: 2_900_000 }),
  document: fc.option(fc.dictionary(fc.string({ maxLength: 5 }), fc.integer()), { maxDepth: 1 }),
  list: fc.array(int, { maxLength: 4 }),
});

const withoutNul = (text: string | null): string | null => text?.replaceAll('\0', '\uFFFD') ?? null;

type Row = Omit<typeof row extends fc.Arbitrary<infer T> ? T : never, 'document' | 'list'> & {
  no: number;
  document: string | null;
};

const SCALARS = {
  no: 'int',
  small: 'smallint',
  large: 'bigint',
  exact: 'numeric',
  words: 'text',
  id: 'uuid',
  atMs: ['time', 'at'],
  day: 'day',
  document: 'jsonb',
} as const;
const COPIED = columns<Row & { list: readonly number[] }>({ ...SCALARS, list: 'int[]' });
const INSERTED = columns<Row>(SCALARS);

test('copied and inserted rows equal the input', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 30 }), async (rows) => {
      const json = (document: object | null): string | null => document && JSON.stringify(document);
      const stored = rows.map((each, no) => ({ ...each, no, document: json(each.document) }));
      const client = await database.pool.connect();
      try {
        await client.query('TRUNCATE copied');
        await COPIED.copyInto(client, 'copied', stored);
        const negative = stored.map((each) => ({ ...each, no: -1 - each.no }));
        await client.query(INSERTED.insertInto('copied', ['list']), [null, ...INSERTED.arrays(negative)]);
      } finally {
        client.release();
      }
      const found = await database.pool.query(`SELECT ${INSERTED.selected}, list FROM copied ORDER BY no < 0, abs(no)`);
      const expected = stored.map(({ exact, words, id, document, ...each }) => ({
        ...each,
        exact: decimalText(exact),
        words: withoutNul(words),
        id: id.replaceAll('-', ''),
        document: JSON.parse(document?.replaceAll('\\u0000', '\uFFFD') ?? 'null'),
      }));
      expect(found.rows).toEqual([
        ...expected.map((each) => ({ ...each, list: each.list.length === 0 ? null : each.list })),
        ...expected.map((each) => ({ ...each, no: -1 - each.no, list: null })),
      ]);
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

const WORDED = columns<{ words: string | null; no: number }>({ words: 'text', no: 'int' });

test('a row may begin with an empty text, and no rows are no statement', async () => {
  await database.pool.query('CREATE TABLE worded (words text, no int)');
  const client = await database.pool.connect();
  try {
    const rows = ['', 'a', null].map((words, no) => ({ words, no }));
    await WORDED.copyInto(client, 'worded', rows);
    await WORDED.copyInto(client, 'nothing', []);
  } finally {
    client.release();
  }
  const { rows } = await database.pool.query('SELECT words FROM worded ORDER BY no');
  expect(rows.map(({ words }: { words: string | null }) => words)).toEqual(['', 'a', null]);
});
