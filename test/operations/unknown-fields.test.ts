import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { Configuration } from '../../src/domain/configuration.ts';
import { bodyCheck } from '../../src/http/validation.ts';
import { bulkItems } from '../../src/operations/bulk.ts';
import { unknownFieldsText } from '../../src/operations/validation.ts';
import { says } from './issue.ts';

describe('unknown fields', () => {
  const board = { key: 'week', name: 'Week', rankBy: 'streak' };

  test.each([
    [{ repetitionUnit: 'week' }, 'leaderboards[0].repetitionUnit is not a known field (did you mean runUnit?)'],
    [{ maxparticipants: 3 }, 'leaderboards[0].maxparticipants is not a known field (did you mean maxParticipants?)'],
    [{ zzz: 3 }, 'leaderboards[0].zzz is not a known field'],
    [{ ['x'.repeat(5_000)]: 1 }, `leaderboards[0].${'x'.repeat(64)} is not a known field`],
    [{ constructor: 1 }, 'leaderboards[0].constructor is not a known field'],
  ])('%j: %s', (fields, text) => {
    expect(unknownFieldsText(Configuration, { leaderboards: [{ ...board, ...fields }] })).toBe(text);
  });

  test('does not suggest a field that is already given', () => {
    const text = unknownFieldsText(Configuration, { metrics: [{ key: 'a', name: 'A', nam: 'A' }] });
    expect(text).toBe('metrics[0].nam is not a known field');
  });

  test('are found inside alternatives, and not where the schema allows any', () => {
    const schema = Type.Object({
      badge: Type.Union([Type.Object({ url: Type.String() }), Type.Null()]),
      any: Type.Unknown(),
      map: Type.Record(Type.String(), Type.String()),
    });
    expect(unknownFieldsText(schema, { badge: { uri: 'x' }, any: { a: 1 }, map: { b: 'c' } })).toBe(
      'badge.uri is not a known field (did you mean url?)',
    );
    expect(unknownFieldsText(schema, { badge: null })).toBeNull();
    expect(unknownFieldsText(schema, 'no object')).toBeNull();
  });

  test('hundreds of thousands make a short text', () => {
    const many = Object.fromEntries(Array.from({ length: 300_000 }, (_, at) => [`field${at}`, at]));
    expect(unknownFieldsText(Configuration, many)?.length).toBeLessThan(1_000);
  });
});

describe('a configuration document', () => {
  const check = bodyCheck(Configuration, Configuration);
  const errorOf = (document: unknown): string => {
    try {
      check(document);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('with several mistakes: the error names all of them, those of alternatives once', () => {
    const document = {
      metrics: [{ key: 'a', name: 1 }, { nam: 'B' }],
      pointsSystems: [{ key: 'xp', name: 'XP', maxPoints: 'many', levels: [{ key: 'l', name: 'L' }] }],
      leaderboards: 7,
    };
    expect(errorOf(document).split('; ')).toEqual([
      'metrics[1].nam is not a known field (did you mean name?)',
      'metrics[0].name must be a string',
      'metrics[1].name is required',
      'metrics[1].key is required',
      'pointsSystems[0].levels[0].points is required',
      'pointsSystems[0].maxPoints must be a whole number or null',
      'leaderboards must be an array',
    ]);
  });

  test('without mistakes: nothing', () => {
    expect(errorOf({ metrics: [{ key: 'a', name: 'A' }] })).toBe('');
  });

  test('of ten thousand mistakes: the first', () => {
    expect(errorOf({ metrics: Array.from({ length: 10_000 }, () => 1) })).toBe('metrics[0] must be an object');
  });
});

test('an item with one is an issue; one with a field of the answer is not', async () => {
  const items = bulkItems(Type.Object({ name: Type.String() }), Type.Object({ created: Type.String() }));
  const sent = [{ name: 'a', created: 'then' }, { nmae: 'b' }, { name: 'c', colour: 'red' }];
  const { done, issues } = await items.each(sent, async (good) => good.map(({ name }) => ({ name })));
  expect(done).toEqual([{ name: 'a' }]);
  expect(issues).toEqual([
    { index: 1, ...says('error', 'nmae is not a known field (did you mean name?)') },
    { index: 2, ...says('error', 'colour is not a known field') },
  ]);
});

test('an issue has a short text for any input', async () => {
  const items = bulkItems(Type.Object({ id: Type.String() }));
  const { issues } = await items.each([{ id: 'x'.repeat(100_000) }, { id: 'b' }], async (good) =>
    good.map(({ id }) => `There is no thing with the ID ${id}${'!'.repeat(50_000)}`),
  );
  expect(issues).toMatchObject([{ index: 0 }, { id: 'b' }]);
  for (const { message } of issues) expect(message.length).toBeLessThan(1_100);
});
