import { expect, test } from 'vitest';
import { didYouMean, editDistance, suggestion } from '../../src/domain/nearest.ts';
import { similarZone } from '../../src/domain/zone.ts';

test.each([
  ['', '', 0],
  ['kitten', 'sitting', 3],
  ['abc', '', 3],
  ['runUnit', 'repetitionUnit', 8],
])('from %j to %j: %i edits', (from, to, edits) => expect(editDistance(from, to)).toBe(edits));

test.each([
  ['flip', "Did you mean 'flips'?"],
  ['FLIPS', "Did you mean 'flips'?"],
  ['minute-studied', "Did you mean 'minutes-studied'?"],
  ['words', undefined],
  ['', undefined],
])('a similar key of %j: %s', (key, hint) => expect(didYouMean(key, ['minutes-studied', 'flips'])).toBe(hint));

test('compares a long key with no other, and any key with a bounded number', () => {
  expect(didYouMean('x'.repeat(65), ['x'.repeat(65)])).toBeUndefined();
  const many = Array.from({ length: 10_000 }, (_, at) => `key-${at}-${'y'.repeat(20)}`);
  let read = 0;
  function* counted(): Generator<string> {
    for (const key of many) {
      read += 1;
      yield key;
    }
  }
  didYouMean('z'.repeat(27), counted());
  expect(read).toBeLessThan(1_000);
});

test('a suggestion after an error about a value of a list', () => {
  expect(suggestion('streak.lots', ['achievement.completed', 'streak.lost'])).toBe(' (did you mean streak.lost?)');
  expect(suggestion('other', ['achievement.completed'])).toBe('');
});

test.each([
  ['Berlin', "Did you mean 'Europe/Berlin'?"],
  ['berln', "Did you mean 'Europe/Berlin'?"],
  ['Europe/Berln', "Did you mean 'Europe/Berlin'?"],
  ['new york', "Did you mean 'America/New_York'?"],
  ['Mars/Base', undefined],
  ['', undefined],
  ['x'.repeat(1_000), undefined],
])('a zone like %j: %s', (text, hint) => expect(similarZone(text)).toBe(hint));
