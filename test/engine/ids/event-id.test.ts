import { expect, test } from 'vitest';
import { uuidText } from '../../../src/domain/schemas.ts';
import { eventId } from '../../../src/engine/ids.ts';

const NOW = Date.UTC(2030, 0, 1);

test('an ID is a UUIDv7 of its time that leaves room for awards', () => {
  const id = eventId(NOW);
  expect(uuidText(id)).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{8}0000$/);
  expect(parseInt(id.slice(0, 12), 16)).toBe(NOW);
});

test('IDs keep their order while the clock stands still', () => {
  const ids = Array.from({ length: 20_000 }, () => eventId(NOW));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  // Another time in between starts over.
  const later = eventId(NOW + 1);
  expect(later > ids.at(-1)!).toBe(true);
});
