import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { bulkItems, deleteEach } from '../../src/operations/bulk.ts';
import { says } from './issue.ts';

const Item = Type.Object({ name: Type.String({ maxLength: 3 }), userId: Type.Optional(Type.String()) });
// An `id` is a field of the answer.
const items = bulkItems(Item, Type.Object({ id: Type.String() }));

describe('bulk items', () => {
  test('processes the valid ones together; the others are issues, in order', async () => {
    const seen: unknown[] = [];
    const { done, issues } = await items.each(
      [{ name: 'a' }, null, { name: 'b' }, { name: 'long' }, { name: 'c' }, { id: 'x' }, { name: 1, userId: 'ada' }],
      async (good) => {
        seen.push(good);
        return good.map((item) => (item.name === 'b' ? 'There is one already' : { made: item.name }));
      },
    );
    expect(seen).toEqual([[{ name: 'a' }, { name: 'b' }, { name: 'c' }]]);
    expect(done).toEqual([{ made: 'a' }, { made: 'c' }]);
    expect(issues).toEqual([
      { index: 1, ...says('error', 'The item must be an object') },
      { index: 2, ...says('error', 'There is one already') },
      { index: 3, ...says('error', 'name must have at most 3 characters') },
      { index: 5, ...says('error', 'name is required') },
      { index: 6, userId: 'ada', ...says('error', 'name must be a string') },
    ]);
  });

  test('names all faults of an item at once; a misspelt field explains a missing one', async () => {
    const sent = [{ name: 'long', userId: 7 }, { nam: 'a', userId: 7 }, {}];
    const { issues } = await items.each(sent, async (good) => good);
    expect(issues.map(({ message }) => message)).toEqual([
      'name must have at most 3 characters; userId must be a string',
      'nam is not a known field (did you mean name?); userId must be a string',
      'name is required',
    ]);
  });

  test('processes nothing without a valid one', async () => {
    const never = async (): Promise<object[]> => Promise.reject(new Error('called'));
    expect(await items.each([1], never)).toMatchObject({ done: [], issues: [{ index: 0 }] });
  });

  test('are documented, though not validated with the body', () => {
    expect(Object.keys(items.body)).not.toContain('items');
    expect(JSON.parse(JSON.stringify(items.body))).toMatchObject({
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: { type: 'object', required: ['name'] },
    });
  });
});

test('a deletion names each ID once, in any case', async () => {
  const asked: string[][] = [];
  const answer = await deleteEach(['AA', 'aa', 'bb'], {
    noun: 'thing',
    work: async (ids) => (asked.push(ids), ['aa']),
  });
  expect(asked).toEqual([['aa', 'bb']]);
  expect(answer).toEqual({
    deleted: [{ id: 'aa' }],
    issues: [{ id: 'bb', ...says('error', 'There is no thing with this ID') }],
  });
});
