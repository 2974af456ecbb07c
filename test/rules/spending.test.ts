import { expect, test } from 'vitest';
import { RECORD } from '../../src/packed/record-fields.ts';
import { HOLD } from '../../src/packed/user-fields.ts';
import { balanceRecord } from '../../src/rules/record.ts';
import { type BalanceMovement, type BalanceOutcome, moveBalance } from '../../src/rules/spending.ts';
import { oneMoreKey } from '../../src/rules/used-keys.ts';
import type { Hold, User } from '../../src/rules/user.ts';
import { DAY, DAY_MS, freshUser, NOON } from './surroundings.ts';

const ID = 'a'.repeat(32);
const around = { nowMs: NOON, id: ID };
const holdOf = (fields: Partial<Hold> = {}): Hold => ({
  system: 5,
  id: 'b'.repeat(32),
  amount: 3,
  expiresMs: NOON + 1000,
  ...fields,
});

/** A user with 10 points in system 5. */
const owner = (fields: Partial<User> = {}): User => freshUser({ points: new Map([[5, 10]]), ...fields });
const spentBy = ({ spent }: User): number | undefined => spent.get(5);

test.each<[string, Partial<User>, BalanceMovement, Pick<BalanceOutcome, 'amount' | 'balance'>, number]>([
  ['all is spent', {}, { kind: 'spend', system: 5, amount: 10 }, { amount: 10, balance: 0 }, 10],
  [
    'more is spent',
    { spent: new Map([[5, 2]]) },
    { kind: 'spend', system: 5, amount: 3 },
    { amount: 3, balance: 5 },
    5,
  ],
  [
    'an expired hold does not count',
    { holds: [holdOf({ expiresMs: NOON })] },
    { kind: 'spend', system: 5, amount: 10 },
    { amount: 10, balance: 0 },
    10,
  ],
  [
    'a capture spends what is held',
    { holds: [holdOf()] },
    { kind: 'capture', system: 5, of: holdOf().id },
    { amount: 3, balance: 7 },
    3,
  ],
  [
    'a release gives back what is held',
    { holds: [holdOf()] },
    { kind: 'release', system: 5, of: holdOf().id },
    { amount: 3, balance: 10 },
    0,
  ],
  [
    'a refund gives back what was spent',
    { spent: new Map([[5, 4]]) },
    { kind: 'refund', system: 5, amount: 4, of: ID, generation: null },
    { amount: 4, balance: 10 },
    0,
  ],
  ['points expire', {}, { kind: 'expire', system: 5, amount: 4 }, { amount: 4, balance: 6 }, 4],
])('%s', (_name, fields, movement, outcome, spent) => {
  const user = owner(fields);
  expect(moveBalance(user, movement, around)).toMatchObject({ ...outcome, expiresMs: null });
  expect(spentBy(user)).toBe(spent);
  expect(user.points).toEqual(new Map([[5, 10]]));
  expect(user.holds).toEqual([]);
});

test('a hold takes from the balance until it expires', () => {
  const user = owner();
  expect(moveBalance(user, { kind: 'hold', system: 5, amount: 4, expiresInMs: 1000 }, around)).toEqual({
    amount: 4,
    balance: 6,
    expiresMs: NOON + 1000,
    holdEndsMs: NOON + 1000,
  });
  expect(user.holds).toEqual([holdOf({ id: ID, amount: 4 })]);
  // It counts as a user who has spent something.
  expect(spentBy(user)).toBe(0);
  expect(moveBalance(user, { kind: 'spend', system: 5, amount: 7 }, around)).toEqual({
    refusal: 'insufficient',
    balance: 6,
  });
});

test('a change of any balance removes expired holds of all systems', () => {
  const user = owner({ holds: [holdOf({ system: 6, expiresMs: NOON }), holdOf({ system: 6 })] });
  moveBalance(user, { kind: 'spend', system: 5, amount: 1 }, around);
  expect(user.holds).toEqual([holdOf({ system: 6 })]);
});

const many = Array.from({ length: HOLD.most }, (_, at) => holdOf({ id: String(at).padStart(32, '0'), amount: 0 }));

test.each<[string, Partial<User>, BalanceMovement, object]>([
  ['more than the balance', {}, { kind: 'spend', system: 5, amount: 11 }, { refusal: 'insufficient', balance: 10 }],
  [
    'points taken away after they were spent',
    { spent: new Map([[5, 12]]) },
    { kind: 'spend', system: 5, amount: 1 },
    { refusal: 'insufficient', balance: -2 },
  ],
  ['too many holds', { holds: many }, { kind: 'hold', system: 5, amount: 1, expiresInMs: 1 }, { refusal: 'manyHolds' }],
  ['an unknown hold', {}, { kind: 'capture', system: 5, of: ID }, { refusal: 'notHeld' }],
  [
    'an expired hold',
    { holds: [holdOf({ expiresMs: NOON })] },
    { kind: 'release', system: 5, of: holdOf().id },
    { refusal: 'notHeld' },
  ],
  [
    'a hold of another system',
    { holds: [holdOf({ system: 6 })] },
    { kind: 'capture', system: 5, of: holdOf().id },
    { refusal: 'notHeld' },
  ],
  [
    'a refund to a later user with the same ID',
    { generation: 2, spent: new Map([[5, 4]]) },
    { kind: 'refund', system: 5, amount: 4, of: ID, generation: null },
    { refusal: 'notHeld' },
  ],
  [
    'a refund of more than was spent',
    {},
    { kind: 'refund', system: 5, amount: 4, of: ID, generation: null },
    { refusal: 'notHeld' },
  ],
])('refusals: %s', (_name, fields, movement, refusal) => {
  expect(moveBalance(owner(fields), movement, around)).toEqual(refusal);
});

test('holds of other systems do not count towards the limit', () => {
  const user = owner({ holds: many.map((hold) => ({ ...hold, system: 6 })) });
  expect(moveBalance(user, { kind: 'hold', system: 5, amount: 1, expiresInMs: 1 }, around)).toMatchObject({
    amount: 1,
  });
});

test('the record says what moved, on the user’s local day', () => {
  const user = owner({ offsetSeconds: 14 * 3600 });
  const movement: BalanceMovement = { kind: 'spend', system: 5, amount: 4 };
  const outcome = moveBalance(user, movement, around) as BalanceOutcome;
  const texts = { reason: 'a hat', reference: undefined, key: 'k' };
  const record = balanceRecord(user, movement, outcome, { nowMs: NOON, id: ID, userId: 'ada', texts });
  expect(record).toMatchObject({
    [RECORD.day]: DAY + 1,
    [RECORD.balance]: [5, 1, 4, 6, false, false, 'a hat', false, 'k', false],
  });
});

test('idempotency keys are counted by UTC day', () => {
  const first = oneMoreKey({ usedKeys: null }, { nowMs: NOON, keysPerDay: 2 });
  expect(first).toMatchObject({ count: 1 });
  const second = oneMoreKey({ usedKeys: first as User['usedKeys'] }, { nowMs: NOON, keysPerDay: 2 });
  expect(second).toMatchObject({ count: 2 });
  const usedKeys = second as User['usedKeys'];
  expect(oneMoreKey({ usedKeys }, { nowMs: NOON, keysPerDay: 2 })).toEqual({
    refusal: 'tooManyKeys',
    waitMs: DAY_MS / 2,
  });
  expect(oneMoreKey({ usedKeys }, { nowMs: NOON, keysPerDay: 0 })).toMatchObject({ count: 3 });
  expect(oneMoreKey({ usedKeys }, { nowMs: NOON + DAY_MS, keysPerDay: 2 })).toMatchObject({ count: 1 });
});
