import { expect, test } from 'vitest';
import { uuidText } from '../../../src/domain/schemas.ts';
import { KeyedIds, partOf, timeOf } from '../../../src/engine/ids.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
const ids = new KeyedIds(Buffer.alloc(32, 7));
const ada = { tenantNo: 0, userId: 'ada', metricNo: 4, key: 'k' };
test('an ID is a UUIDv7 of its time that leaves room for awards, and differs with another secret', () => {
  const id = ids.make(NOW, ada);
  expect(uuidText(id)).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{8}0000$/);
  expect(parseInt(id.slice(0, 12), 16)).toBe(NOW);
  expect(ids.make(NOW, ada)).toBe(id);
  expect(new KeyedIds(Buffer.alloc(32, 8)).make(NOW, ada).slice(12)).not.toBe(id.slice(12));
});

test('every part of the scope changes it, and no part can pass for another', () => {
  const others = [
    { ...ada, tenantNo: 1 },
    { ...ada, metricNo: 5 },
    { ...ada, userId: 'adak', key: '' },
    { ...ada, userId: 'ad', key: 'ak' },
    { ...ada, userId: 'ada\0', key: 'k' },
    { ...ada, userId: 'ada', key: '\0k' },
  ];
  expect(new Set([ada, ...others].map((scoped) => ids.make(NOW, scoped))).size).toBe(others.length + 1);
});

test("the time of use is part of the event's ID; the key's part does not depend on it", () => {
  const id = ids.make(NOW, ada);
  expect(ids.make(timeOf(id), ada)).toBe(id);
  expect(partOf(ids.make(NOW + 1, ada))).toBe(partOf(id));
});
