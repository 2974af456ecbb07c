import { Type } from 'typebox';
import { expect, test } from 'vitest';
import type { Schema } from '../abuse/costliest/schema.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { unsentDropper } from '../../src/operations/validation.ts';

const takesNull = ({ type, anyOf = [] }: Schema): boolean => [type].flat().includes('null') || anyOf.some(takesNull);

/** The value to use if there is a choice. */
interface Choice {
  /** Replaces an optional field that does not accept null. */
  unset: (name: string) => object;
  /** A field that accepts null is null; any other has a value, all the way down. */
  nulls: boolean;
}

/** A value with every field, all the way down. */
function whole(schema: Schema, choice: Choice): unknown {
  if (schema.anyOf !== undefined)
    return whole(
      schema.anyOf.find((one) => !takesNull(one))!,
      choice,
    );
  if (schema.items !== undefined) return [whole(schema.items, choice), whole(schema.items, choice)];
  if (schema.properties === undefined)
    return schema.additionalProperties === undefined ? 'x' : { ...choice.unset('key') };
  const { required = [] } = schema;
  const fields = Object.entries(schema.properties).map(([name, property]): object => {
    const value = { [name]: choice.nulls && takesNull(property) ? null : whole(property, choice) };
    return required.includes(name) || takesNull(property) ? value : choice.unset(name);
  });
  return Object.assign({}, ...fields) as object;
}

const withBody = [...applicationOperations, ...adminOperations].filter(({ body }) => body !== null);

test.each(withBody.map((one) => [`${one.surface} ${one.id}`, one] as const))(
  '%s: an optional field that is null counts as absent, at every depth',
  (_id, { body }) => {
    const written = JSON.parse(JSON.stringify(body)) as Schema;
    for (const nulls of [true, false]) {
      const sent = whole(written, { unset: (name) => ({ [name]: null }), nulls });
      unsentDropper(body!)(sent);
      expect(sent).toEqual(whole(written, { unset: () => ({}), nulls }));
    }
  },
);

const nullable = Type.Union([Type.String(), Type.Null()]);
const example = Type.Object({
  id: Type.String(),
  name: Type.Optional(Type.String()),
  note: Type.Optional(nullable),
  parts: Type.Optional(Type.Array(Type.Object({ size: Type.Optional(Type.Integer()) }))),
  more: Type.Optional(Type.Unsafe({ type: 'object', additionalProperties: { type: 'string' } })),
});

test.each([
  ['keeps what is not null', { id: 'a', name: '', parts: [] }, { id: 'a', name: '', parts: [] }],
  ['keeps required fields, so that the check names them', { id: null }, { id: null }],
  ['keeps what accepts null', { id: 'a', note: null, name: null }, { id: 'a', note: null }],
  [
    'in items and in maps',
    { parts: [{ size: null }, null], more: { a: null, b: 'b' } },
    { parts: [{}, null], more: { b: 'b' } },
  ],
  ['keeps unknown fields', { id: 'a', other: null, __proto__: null }, { id: 'a', other: null }],
  ['what is no object at all', null, null],
])('%s', (_what, sent, left) => {
  unsentDropper(example)(sent);
  expect(sent).toEqual(left);
});
