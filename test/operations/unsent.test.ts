import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { unsentDropper } from '../../src/operations/unsent.ts';

/** JSON Schema as our operations use it. */
interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
}

const takesNull = ({ type, anyOf = [] }: Schema): boolean => [type].flat().includes('null') || anyOf.some(takesNull);

/** A value with every field there is, all the way down, of which the optional ones that do not take null are left to `unset`. */
function whole(schema: Schema, unset: () => object): unknown {
  if (schema.anyOf !== undefined)
    return whole(
      schema.anyOf.find((one) => !takesNull(one))!,
      unset,
    );
  if (schema.items !== undefined) return [whole(schema.items, unset), whole(schema.items, unset)];
  if (schema.properties === undefined) return schema.additionalProperties === undefined ? 'x' : { ...unset() };
  const { required = [] } = schema;
  const fields = Object.entries(schema.properties).map(([name, property]): object => {
    if (required.includes(name)) return { [name]: whole(property, unset) };
    const inside = { [`${name} itself`]: whole(property, unset) };
    if (takesNull(property)) return { [name]: null, ...inside };
    return Object.fromEntries(Object.keys(unset()).map(() => [name, null]));
  });
  return Object.assign({}, ...fields) as object;
}

const withBody = [...applicationOperations, ...adminOperations].filter(({ body }) => body !== null);

test.each(withBody.map((one) => [`${one.surface} ${one.id}`, one] as const))(
  '%s: an optional field that is null is one that was not sent, at every depth',
  (_id, { body }) => {
    const written = JSON.parse(JSON.stringify(body)) as Schema;
    const sent = whole(written, () => ({ key: null }));
    unsentDropper(body!)(sent);
    expect(sent).toEqual(whole(written, () => ({})));
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
  ['what is not null stays', { id: 'a', name: '', parts: [] }, { id: 'a', name: '', parts: [] }],
  ['what is required stays, so that the check names it', { id: null }, { id: null }],
  ['what takes null stays', { id: 'a', note: null, name: null }, { id: 'a', note: null }],
  [
    'in items and in maps',
    { parts: [{ size: null }, null], more: { a: null, b: 'b' } },
    { parts: [{}, null], more: { b: 'b' } },
  ],
  ['what is not known stays', { id: 'a', other: null, __proto__: null }, { id: 'a', other: null }],
  ['what is no object at all', null, null],
])('%s', (_what, sent, left) => {
  unsentDropper(example)(sent);
  expect(sent).toEqual(left);
});
