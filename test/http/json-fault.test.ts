import { describe, expect, test } from 'vitest';
import type { AppError } from '../../src/errors.ts';
import { parseJson } from '../../src/http/json-body.ts';
import { readLargeJson } from '../../src/http/json-reader.ts';

const hintOf = (text: string): string | undefined => {
  try {
    parseJson(text);
  } catch (error) {
    return (error as AppError).hint;
  }
  return undefined;
};

describe('the fault of a body that is not JSON', () => {
  test.each([
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
  ])('%.20j has it at %i', (text, at) => {
    const lines = text.slice(0, at).split('\n');
    expect(hintOf(text)).toContain(`at line ${lines.length}, column ${lines.at(-1)!.length + 1}.`);
  });

  test('is reported by line and column', () => {
    expect(hintOf('{\n  "user": {"id": "ada"},\n  value: 1\n}')).toBe('The fault is at line 3, column 3.');
    expect(hintOf('{"user":')).toBe('It ends too early, at line 1, column 9.');
  });

  test('is the same in a large body', async () => {
    const items = Array.from({ length: 20_000 }, (_, at) => `{"n":${at}}`);
    const text = `[${items.join(',')},{"n":x}]`;
    const hint = `The fault is at character ${text.indexOf('x') + 1}.`;
    await expect(readLargeJson(text)).rejects.toMatchObject({ code: 'invalid_json', hint });
    const unfinished = text.slice(0, text.indexOf('x'));
    await expect(readLargeJson(unfinished)).rejects.toMatchObject({ hint: expect.stringMatching('It ends too early') });
  });
});
