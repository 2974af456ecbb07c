import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/http/json-body.ts';
import { readJson, readLargeJson } from '../../src/http/json-reader.ts';

const outcome = (parse: () => unknown): unknown => {
  try {
    return { value: parse() };
  } catch {
    return 'refused';
  }
};
const json = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 1, '\t'))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

describe('a body read value by value', () => {
  test('equals the result of JSON.parse', () => {
    const property = fc.property(json, (text) => {
      expect(outcome(() => readJson(text))).toEqual(outcome(() => JSON.parse(text)));
    });
    fc.assert(property, { numRuns: 3_000 });
  });

  test('is refused if JSON.parse refuses it: one character changed, added or left out', () => {
    const character = fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      '"',
      '\\',
      ' ',
      '\n',
      '\u{a0}',
      '1',
      '-',
      '.',
      'e',
      'a',
    );
    const property = fc.property(
      json,
      fc.nat(),
      fc.option(character, { nil: '' }),
      fc.boolean(),
      (text, at, other, instead) => {
        const place = at % (text.length + 1);
        const broken = text.slice(0, place) + other + text.slice(place + (instead ? 1 : 0));
        expect(outcome(() => readJson(broken))).toEqual(outcome(() => JSON.parse(broken)));
      },
    );
    fc.assert(property, { numRuns: 6_000 });
  });

  test.each([
    ['a number before an object', '{"a":1{"b":[1,2]}}'],
    ['a number before an array', '{"a":1.[1,2]}'],
    ['a sign before an array', '{"a":-[1,2]}'],
    ['a space that JSON does not have, in an array', '[\u{a0}[1,2]]'],
    ['a byte order mark', '\u{feff}[1,2]'],
  ])('refuses %s', (_name, text) => {
    expect(outcome(() => JSON.parse(text))).toBe('refused');
    expect(outcome(() => readJson(text))).toBe('refused');
  });

  test('may have fields of any name', () => {
    const text = '{"__proto__":{"a":[1,2,3]},"constructor":1,"a":1,"a":{"b":[{},{}]}}';
    const value = readJson(text) as object;
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test.each([
    ['400,000 fields', `{${Array.from({ length: 400_000 }, (_, at) => `"${at}":0`).join()}}`, '10000 fields'],
    ['a million levels', '['.repeat(1_000_000), 'nested too deeply'],
  ])('refuses %s', async (_name, text, error) => {
    await expect(readLargeJson(text)).rejects.toThrow(error);
  });
});

describe('the limits do not depend on the size or the place', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const object = (fields: number): string => `{${Array.from({ length: fields }, (_, at) => `"${at}":[]`).join()}}`;
  /** Larger than a piece, so that the text is parsed in slices and the value is within a piece, or is split. */
  const besides = (text: string): string[] => [
    text,
    `[${'1,'.repeat(40_000)}${text}]`,
    `[${text}${',1'.repeat(40_000)}]`,
  ];
  const both = async (text: string): Promise<unknown[]> =>
    Promise.all(
      [() => parseJson(text), () => readLargeJson(text)].map(async (parse) => {
        try {
          await parse();
          return 'accepted';
        } catch (error) {
          return (error as Error).message;
        }
      }),
    );

  test.each([
    ['64 levels', nested(64), 'accepted'],
    ['65 levels', nested(65), 'The body is nested too deeply'],
    ['many brackets in strings', `["${'[{'.repeat(100)}","\\"[","${'['.repeat(65)}"]`, 'accepted'],
    ['many arrays in a row', `[${Array.from({ length: 200 }, () => '[]').join()}]`, 'accepted'],
    ['10,000 fields', object(10_000), 'accepted'],
    ['10,001 fields', object(10_001), 'The body has an object of more than 10000 fields'],
    [
      '10,001 fields of one name',
      `{${'"":0,'.repeat(10_000)}"":0}`,
      'The body has an object of more than 10000 fields',
    ],
    ['many items of an array', `[${'0,'.repeat(30_000)}0]`, 'accepted'],
    ['commas in strings', `{"a":"${','.repeat(60_000)}"}`, 'accepted'],
  ])('%s', async (_name, text, outcome) => {
    for (const one of text === nested(64) ? [text] : besides(text)) expect(await both(one)).toEqual([outcome, outcome]);
  });
});
