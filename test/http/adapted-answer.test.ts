import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import {
  byKey,
  INSTEAD_OF_NULL,
  Nullable,
  NullableWholeNumber,
  OLDER_VALUES,
  WholeNumber,
} from '../../src/domain/schemas.ts';
import { adaptedWriter, strictnessOf } from '../../src/http/adapted-answer.ts';

const Trigger = Type.Enum(['api', 'anniversary'], { [OLDER_VALUES]: { anniversary: 'api' } });
const Board = Type.Object({
  value: WholeNumber(),
  exact: Type.Number(),
  history: Type.Array(Type.Object({ value: NullableWholeNumber() })),
  trigger: Type.Optional(Trigger),
});
const BOTH = { wholeOnly: true, olderValues: true, refusesNull: false };

const write = adaptedWriter({ 200: Type.Object({ boards: byKey(Board), text: Type.String() }), 204: null })!;
const body = {
  boards: { a: { value: 2.9, exact: 2.9, history: [{ value: -0.5 }, { value: null }], trigger: 'anniversary' } },
  text: 'anniversary 1.5',
};
const adapted = {
  boards: { a: { value: 2, exact: 2.9, history: [{ value: -1 }, { value: null }], trigger: 'api' } },
  text: 'anniversary 1.5',
};

test('adapts marked values at any depth, and leaves the body itself unchanged', () => {
  const before = structuredClone(body);
  expect(JSON.parse(write({ body }, BOTH)!)).toEqual(adapted);
  expect(JSON.parse(write({ json: JSON.stringify(body) }, BOTH)!)).toEqual(adapted);
  expect(body).toEqual(before);
});

test('makes each adaptation only for clients that need it', () => {
  const [a] = [body.boards.a];
  const read = (client: object): typeof a => JSON.parse(write({ body }, { ...BOTH, ...client })!).boards.a;
  expect(read({ wholeOnly: false })).toMatchObject({ value: 2.9, trigger: 'api' });
  expect(read({ olderValues: false })).toMatchObject({ value: 2, trigger: 'anniversary' });
});

test('replaces or omits null where a client refuses it, and nowhere else', () => {
  const writeNulls = adaptedWriter({
    200: Type.Array(
      Type.Object({
        tokens: Type.Optional(Nullable(Type.Array(Type.String()), { [INSTEAD_OF_NULL]: [] })),
        at: Nullable(Type.String(), { [INSTEAD_OF_NULL]: null }),
        name: Nullable(Type.String()),
      }),
    ),
  })!;
  const rows = [
    { tokens: null, at: null, name: null },
    { at: 'now', name: 'null' },
  ];
  const adaptedRows = [
    { tokens: [], name: null },
    { at: 'now', name: 'null' },
  ];
  const json = JSON.stringify(rows);
  for (const answer of [{ body: rows }, { json }]) {
    expect(JSON.parse(writeNulls(answer, { ...BOTH, refusesNull: true })!)).toEqual(adaptedRows);
    expect(JSON.parse(writeNulls(answer, BOTH)!)).toEqual(rows);
  }
});

test('returns the same text if nothing has to change', () => {
  const json = '{ "boards": {},  "text": "spaces stay" }';
  expect(write({ json }, BOTH)).toBe(json);
});

test('compiles nothing for an operation without such fields', () => {
  expect(adaptedWriter({ 200: Type.Object({ value: Type.Number() }), 204: null })).toBeNull();
});

describe('strict clients', () => {
  const of = (language: string | null, contractVersion: string | null) =>
    strictnessOf({ language, contractVersion }, 'byClient');

  test.each([
    [null, null, null],
    [null, '1.26.0', { wholeOnly: true, olderValues: false, refusesNull: false }],
    ['JavaScript', '1.26.3', null],
    ['JavaScript', '1.27.0', null],
    ['JavaScript', '2.0.0', null],
    ['JavaScript', '1.9.9', { wholeOnly: false, olderValues: true, refusesNull: false }],
    ['JavaScript', null, { wholeOnly: false, olderValues: true, refusesNull: true }],
    [null, 'newest', { wholeOnly: true, olderValues: true, refusesNull: false }],
    ['Go', '1.26.0', { wholeOnly: true, olderValues: false, refusesNull: false }],
    ['PHP', '1.0.27', { wholeOnly: true, olderValues: true, refusesNull: true }],
    ['', null, { wholeOnly: true, olderValues: true, refusesNull: true }],
    ['PHP', '1.25.9', BOTH],
  ])('language %s, version %s', (language, version, expected) => {
    expect(of(language, version)).toEqual(expected);
  });
});
