import { expect, test } from 'vitest';
import { isUnavailable } from '../../src/engine/unavailable.ts';
import { RedisNotReady } from '../../src/redis/gate.ts';

// What each database and its client really throw: `test/redis/outage.test.ts`, `test/postgres/outage.test.ts`.

const starting = (): Error => Object.assign(new Error('the database system is starting up'), { code: '57P03' });

test('one of them being away is enough', () => {
  expect(isUnavailable(starting())).toBe(true);
  expect(isUnavailable(new RedisNotReady())).toBe(true);
});

test('other errors are faults', () => {
  for (const thrown of [new TypeError('x'), 'Connection is closed.', null, undefined, { code: 'ECONNREFUSED' }])
    expect(isUnavailable(thrown)).toBe(false);
});

test('examines causes, and stops at a circle of them', () => {
  expect(isUnavailable(new Error('outer', { cause: new Error('middle', { cause: starting() }) }))).toBe(true);
  const circle = new Error('a');
  circle.cause = circle;
  expect(isUnavailable(circle)).toBe(false);
});
