import { expect, test } from 'vitest';
import { type Admission, admit, applyPreferences, type SentProfile } from '../../src/rules/profile.ts';
import type { Refusal } from '../../src/rules/refusal.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, dailyStreak, DAY_MS, freshUser, NOON, planOf, streakOf } from './surroundings.ts';

const known = (fields: Partial<User> = {}): User =>
  freshUser({ createdMs: NOON - 30 * DAY_MS, updatedMs: NOON - DAY_MS / 2, ...fields });

const send = (user: User, sent: SentProfile | null, nowMs = NOON): Admission | Refusal =>
  admit(user, sent, planOf({}, Math.floor(nowMs / DAY_MS)), nowMs);

test.each<[string, SentProfile, Partial<User>, boolean]>([
  ['nothing sent', {}, { name: 'Ada', email: 'a@b.c' }, false],
  ['the same values', { name: 'Ada', attributes: new Map([[1, 'x']]) }, { name: 'Ada' }, false],
  ['a name', { name: 'Eve' }, { name: 'Eve', email: 'a@b.c' }, true],
  ['null clears a name', { name: null }, { name: null, email: 'a@b.c' }, true],
  ['null clears an address', { email: null }, { name: 'Ada', email: null }, true],
  [
    'an attribute',
    { attributes: new Map([[2, 'y']]) },
    {
      attributes: new Map([
        [1, 'x'],
        [2, 'y'],
      ]),
    },
    true,
  ],
  ['device tokens', { deviceTokens: '["t"]' }, { deviceTokens: '["t"]' }, false],
  ['a sign-up date', { signUpDay: DAY }, { signUp: { day: DAY, years: 0, sinceMs: NOON } }, true],
])('fields: %s', (_name, sent, expected, changed) => {
  const user = known({ name: 'Ada', email: 'a@b.c', attributes: new Map([[1, 'x']]) });
  expect(send(user, sent)).toMatchObject({ changed, moved: false, settlements: null });
  expect(user).toMatchObject(expected);
});

test.each<[string, Partial<User>, SentProfile, Partial<User>]>([
  ['false deletes the address', { email: 'a@b.c' }, { subscribe: false }, { email: null, unsubscribed: true }],
  ['an address is no consent', { unsubscribed: true }, { email: 'a@b.c' }, { email: 'a@b.c', unsubscribed: true }],
  ['true with a stored address', { email: 'a@b.c', unsubscribed: true }, { subscribe: true }, { unsubscribed: false }],
  [
    'true with a sent address',
    { unsubscribed: true },
    { subscribe: true, email: 'a@b.c' },
    { email: 'a@b.c', unsubscribed: false },
  ],
])('subscription: %s', (_name, before, sent, after) => {
  const user = known(before);
  send(user, sent);
  expect(user).toMatchObject(after);
});

const signUp = { day: DAY - 9, years: 0, sinceMs: 0 };
test.each<[string, SentProfile, Refusal | null]>([
  ['subscribing without an address', { name: 'Eve', subscribe: true }, { refusal: 'noAddress' }],
  ['subscribing while clearing the address', { name: 'Eve', subscribe: true, email: null }, { refusal: 'noAddress' }],
  ['a sign-up tomorrow', { name: 'Eve', signUpDay: DAY + 1 }, { refusal: 'futureSignUp' }],
  ['a sign-up today, where it is tomorrow already', { signUpDay: DAY + 1, zone: 'Pacific/Kiritimati' }, null],
  [
    'another value of an attribute of servers',
    { name: 'Eve', attributes: new Map([[1, 'y']]), serverOnly: [1] },
    { refusal: 'serverOnly', no: 1 },
  ],
  ['the stored value of it', { attributes: new Map([[1, 'x']]), serverOnly: [1] }, null],
  ['another sign-up date', { name: 'Eve', signUpDay: DAY, serverOnly: [0] }, { refusal: 'serverOnly', no: 0 }],
  ['the stored sign-up date', { signUpDay: DAY - 9, serverOnly: [0] }, null],
])('refusals: %s', (_name, sent, refusal) => {
  const user = known({ signUp, attributes: new Map([[1, 'x']]) });
  const before = structuredClone(user);
  const admission = send(user, sent);
  if (refusal === null) expect(admission).not.toHaveProperty('refusal');
  else {
    expect(admission).toEqual(refusal);
    expect(user).toEqual(before);
  }
});

/** Berlin leaves summer time on 27 October 2024 at 01:00 UTC. */
const TRANSITION = Date.UTC(2024, 9, 27, 1);
const SUMMER = { zone: 'Europe/Berlin', offsetSeconds: 7200, offsetUntilMs: TRANSITION };

test('a zone sets the offset until its next transition', () => {
  const user = known();
  expect(send(user, { zone: 'Europe/Berlin' })).toMatchObject({ moved: true });
  expect(user).toMatchObject(SUMMER);
});

test('null clears the zone, and UTC applies', () => {
  const user = known(SUMMER);
  expect(send(user, { zone: null })).toMatchObject({ moved: true });
  expect(user).toMatchObject({ zone: null, offsetSeconds: null, offsetUntilMs: null });
});

test.each([
  ['before it', TRANSITION - 1, 7200, null],
  ['at it', TRANSITION, 3600, { offsetSeconds: 7200, untilMs: TRANSITION }],
])('the offset is renewed at a transition: %s', (_name, nowMs, offsetSeconds, left) => {
  const user = known(SUMMER);
  expect(send(user, null, nowMs)).toMatchObject({ moved: false, left });
  expect(user.offsetSeconds).toBe(offsetSeconds);
});

test('a zone that is unknown here counts as UTC', () => {
  const user = known({ zone: 'Mars/Olympus', offsetSeconds: 7200, offsetUntilMs: NOON });
  send(user, null);
  expect(user).toMatchObject({ zone: 'Mars/Olympus', offsetSeconds: 0 });
});

const travelling = (lastDay: number, fields: Partial<User> = {}): User =>
  known({
    streaks: { daily: { ...dailyStreak(5, lastDay), currentPeriod: DAY }, weekly: streakOf({}), monthly: streakOf({}) },
    ...fields,
  });

test('a journey east over midnight moves the day, and keeps the streak', () => {
  const user = travelling(DAY - 1);
  expect(send(user, { zone: 'Pacific/Kiritimati' })).toMatchObject({
    settlements: { streaks: [], beside: [{ kind: 'moved', from: DAY, to: DAY + 1 }] },
  });
  expect(user.streaks.daily).toMatchObject({ length: 5, lastPeriod: DAY, currentPeriod: DAY + 1 });
});

test('there and back moves the day once', () => {
  const user = travelling(DAY);
  send(user, { zone: 'Pacific/Kiritimati' });
  send(user, { zone: null });
  expect(user.begunDay).toBe(DAY + 1);
  expect(send(user, { zone: 'Pacific/Kiritimati' })).toMatchObject({ settlements: null });
  expect(user.streaks.daily).toMatchObject({ length: 5, lastPeriod: DAY + 1 });
  expect(user.begunDay).toBe(null);
});

test('a streak that was lost in the old zone stays lost', () => {
  const user = travelling(DAY - 2);
  expect(send(user, { zone: 'Pacific/Pago_Pago' })).toMatchObject({ settlements: { streaks: [{ kind: 'lost' }] } });
  expect(user.streaks.daily.length).toBe(0);
});

test('a user who is created in a zone leaves no other', () => {
  const user = freshUser();
  expect(send(user, { zone: 'Pacific/Kiritimati' })).toMatchObject({ settlements: null });
  expect(user).toMatchObject({ begunDay: null, offsetSeconds: 14 * 3600 });
});

test('preferences are merged into the stored ones', () => {
  const user = known({ notifications: '1-0', streakRule: { enabled: false, all: true, metrics: [] } });
  applyPreferences(user, { notifications: '-11', streakRule: { enabled: null } }, DAY);
  expect(user.notifications).toBe('111');
  expect(user.streakRule).toEqual({ enabled: null, all: true, metrics: [] });
});

test("own days off apply from the user's next local day", () => {
  const user = known();
  applyPreferences(user, { daysOff: 1 }, DAY);
  expect(user.daysOff).toEqual({ set: 1, fromDay: DAY + 1, before: null });
  applyPreferences(user, { daysOff: 2 }, DAY);
  expect(user.daysOff).toEqual({ set: 2, fromDay: DAY + 1, before: null });
  applyPreferences(user, { daysOff: 4 }, DAY + 1);
  expect(user.daysOff).toEqual({ set: 4, fromDay: DAY + 2, before: 2 });
});
