import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AppError } from '../../src/errors.ts';
import { parseJson } from '../../src/http/json-body.ts';
import { jsonFaultAt, parseLarge } from '../../src/http/large-json.ts';

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const json = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 1, '\t'))
  .map(([value, indent]) => JSON.stringify(value, null, indent));
const broken = fc
  .tuple(json, fc.nat(), fc.constantFrom('', ...'[]{},:"\\ \n\u{a0}01-.ea\u{1}'.split('')), fc.boolean())
  .map(([text, at, other, instead]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + other + text.slice(place + (instead ? 1 : 0));
  });

describe('the fault of a body that is not JSON', () => {
  test('is found if, and only if, JSON.parse finds one', () => {
    fc.assert(
      fc.property(broken, (text) => {
        expect(jsonFaultAt(text) === null).toBe(parses(text));
      }),
      { numRuns: 10_000 },
    );
  });

  test.each([
    ['', 0],
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ["{'a':1}", 1],
    ['[1,2', 4],
    ['[1 2]', 3],
    ['[01]', 2],
    ['"a\nb"', 2],
    ['"a\\x"', 2],
    ['"abc', 4],
    ['{}{}', 2],
    ['[1]]', 3],
    ['nul', 0],
    ['\u{feff}{}', 0],
    [`"${'x'.repeat(10_000)}\n"`, 10_001],
  ])('%.20j has it at %i', (text, at) => expect(jsonFaultAt(text)).toBe(at));

  test('is reported by line and column', () => {
    const hintOf = (text: string): string | undefined => {
      try {
        parseJson(text);
      } catch (error) {
        return (error as AppError).hint;
      }
      return undefined;
    };
    expect(hintOf('{\n  "user": {"id": "ada"},\n  value: 1\n}')).toBe('The fault is at line 3, column 3.');
    expect(hintOf('{"user":')).toBe('It ends too early, at line 1, column 9.');
  });

  test('is the same if the body is parsed in pieces', async () => {
    const items = Array.from({ length: 20_000 }, (_, at) => `{"n":${at}}`);
    const text = `[${items.join(',')},{"n":x}]`;
    const hint = `The fault is at character ${text.indexOf('x') + 1}.`;
    await expect(parseLarge(text)).rejects.toMatchObject({ code: 'invalid_json', hint });
    const unfinished = text.slice(0, text.indexOf('x'));
    await expect(parseLarge(unfinished)).rejects.toMatchObject({ hint: expect.stringMatching('It ends too early') });
  });
});
