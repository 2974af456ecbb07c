import { expect, test } from 'vitest';
import { GUARD, GUARD_ACTION, QUARANTINED } from '../../src/packed/guard-fields.ts';
import { addToQuarantine, guard, isInQuarantine, type Quarantine, takeFromQuarantine } from '../../src/rules/guards.ts';
import type { PlanGuard } from '../../src/rules/plan.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, DAY_MS, decimal, EVENT_ID, freshUser, METRIC, NOON, totalsOf } from './surroundings.ts';

const { refused, clamped, quarantined } = GUARD_ACTION;
const limit = (kind: keyof typeof GUARD, action: number, value: number): PlanGuard => ({
  kind: GUARD[kind],
  action,
  ...decimal(value),
});

interface Sent {
  nowMs?: number;
  occurredMs?: number | null;
  day?: number;
  quarantine?: Quarantine;
}

const check = (
  asked: PlanGuard[],
  user: User,
  value: number,
  { nowMs = NOON, occurredMs = null, day = DAY, quarantine = { events: '', total: 0 } }: Sent = {},
) => guard({ asked }, user, { metric: METRIC, value: decimal(value), nowMs, occurredMs }, { day, quarantine });

/** 60 in this hour and on this day; the last event was 30 seconds ago. */
const activeUser = (): User =>
  freshUser({
    totals: totalsOf({ [METRIC]: 900 }),
    guarded: new Map([
      [
        METRIC,
        {
          hour: Math.floor(NOON / 3_600_000),
          hourSum: decimal(60),
          day: DAY,
          daySum: decimal(60),
          lastMs: NOON - 30_000,
        },
      ],
    ]),
  });

test.each<[keyof typeof GUARD, number, number, number]>([
  ['minValue', 5, 5, 4.9],
  ['maxValue', 50, 50, 50.000001],
  ['maxSumPerHour', 100, 40, 40.1],
  ['maxSumPerDay', 100, 40, 40.1],
  ['maxTotal', 1000, 100, 101],
])('%s %d allows %d, and stops or clamps %d', (kind, most, allowed, tooFar) => {
  const kindNo = GUARD[kind];
  expect(check([limit(kind, refused, most)], activeUser(), allowed)).toEqual({
    action: 'allow',
    value: decimal(allowed),
    clampedBy: null,
  });
  expect(check([limit(kind, refused, most)], activeUser(), tooFar)).toEqual({ action: 'refused', guard: kindNo });
  expect(check([limit(kind, quarantined, most)], activeUser(), tooFar)).toEqual({
    action: 'quarantined',
    guard: kindNo,
  });
  expect(check([limit(kind, clamped, most)], activeUser(), tooFar)).toEqual({
    action: 'allow',
    value: decimal(allowed),
    clampedBy: kindNo,
  });
});

test.each([
  ['too soon', NOON, null, 31, 'refused'],
  ['after the time', NOON, null, 30, 'allow'],
  ['a time sent before the last event', NOON, NOON - 90_000, 30, 'refused'],
  ['a future time counts as now', NOON, NOON + DAY_MS, 31, 'refused'],
])('minSecondsBetween: %s', (_name, nowMs, occurredMs, seconds, action) => {
  expect(check([limit('minSecondsBetween', refused, seconds)], activeUser(), 1, { nowMs, occurredMs }).action).toBe(
    action,
  );
});

test('the first event of a user is not too soon', () => {
  expect(check([limit('minSecondsBetween', refused, 60)], freshUser(), 1).action).toBe('allow');
});

test.each([
  ['the next hour begins with 0', 'maxSumPerHour', 3_600_000, DAY, 100],
  ['an hour before the newest gets no limit of its own', 'maxSumPerHour', -3_600_000, DAY, 40],
  ['the next day begins with 0', 'maxSumPerDay', DAY_MS, DAY + 1, 100],
  ['a day before the newest gets no limit of its own', 'maxSumPerDay', 0, DAY - 1, 40],
] as const)('%s', (_name, kind, later, day, left) => {
  const decision = check([limit(kind, clamped, 100)], activeUser(), 500, { nowMs: NOON + later, day });
  expect(decision).toMatchObject({ value: decimal(left) });
});

test.each(['maxSumPerHour', 'maxSumPerDay', 'maxTotal'] as const)('%s allows what adds nothing', (kind) => {
  const values = [0, -5].map((value) => check([limit(kind, refused, 10)], activeUser(), value).action);
  expect(values).toEqual(['allow', 'allow']);
  expect(check([limit(kind, clamped, 10)], activeUser(), 5)).toMatchObject({ value: decimal(0) });
});

test('the value that is left counts for the sums; what was stopped does not', () => {
  const user = freshUser();
  const asked = [limit('maxValue', clamped, 50), limit('maxSumPerDay', refused, 80)];
  check(asked, user, 70);
  expect(user.guarded.get(METRIC)).toMatchObject({ hourSum: decimal(50), daySum: decimal(50), lastMs: NOON });
  expect(check(asked, user, 31)).toMatchObject({ action: 'refused' });
  expect(user.guarded.get(METRIC)).toMatchObject({ daySum: decimal(50) });
  expect(check(asked, user, 30)).toMatchObject({ action: 'allow' });
});

test.each<[string, PlanGuard[], object]>([
  [
    'refusal before quarantine',
    [limit('maxValue', quarantined, 10), limit('maxTotal', refused, 10)],
    { action: 'refused', guard: GUARD.maxTotal },
  ],
  [
    'quarantine before clamping',
    [limit('maxValue', clamped, 10), limit('maxTotal', quarantined, 10)],
    { action: 'quarantined', guard: GUARD.maxTotal },
  ],
  [
    'the first quarantine is named',
    [limit('maxValue', quarantined, 10), limit('maxTotal', quarantined, 10)],
    { action: 'quarantined', guard: GUARD.maxValue },
  ],
  [
    'clamping by several',
    [limit('maxValue', clamped, 10), limit('maxSumPerDay', clamped, 63)],
    { action: 'allow', value: decimal(3), clampedBy: GUARD.maxSumPerDay },
  ],
  [
    'a clamped value may pass the next guard',
    [limit('maxValue', clamped, 40), limit('maxSumPerDay', refused, 100)],
    { action: 'allow', value: decimal(40), clampedBy: GUARD.maxValue },
  ],
])('precedence: %s', (_name, asked, expected) => {
  expect(check(asked, activeUser(), 500)).toEqual(expected);
});

test('the quarantine has a limit per user and per tenant', () => {
  const asked = [limit('maxValue', quarantined, 10)];
  const full = 'x'.repeat(QUARANTINED.length * QUARANTINED.mostOfUser);
  const actions = [
    { events: '', total: QUARANTINED.most - 1 },
    { events: '', total: QUARANTINED.most },
    { events: full, total: QUARANTINED.mostOfUser },
    { events: full.slice(QUARANTINED.length), total: QUARANTINED.mostOfUser - 1 },
  ].map((quarantine) => check(asked, freshUser(), 11, { quarantine }).action);
  expect(actions).toEqual(['quarantined', 'full', 'full', 'quarantined']);
});

test('an event leaves the quarantine, and the others stay', () => {
  const quarantine: Quarantine = { events: '', total: 7 };
  const ids = ['a', 'b', 'c'].map((digit) => digit.repeat(32));
  for (const id of ids) addToQuarantine(quarantine, id, GUARD.maxValue);
  expect(quarantine.total).toBe(10);
  takeFromQuarantine(quarantine, ids[1]!);
  expect(ids.map((id) => isInQuarantine(quarantine, id))).toEqual([true, false, true]);
  expect(isInQuarantine(quarantine, EVENT_ID)).toBe(false);
  expect(quarantine.total).toBe(9);
});
