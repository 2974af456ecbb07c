import { describe, expect, it } from 'vitest';
import { type QuietHours, quietUntilMs } from '../../../src/domain/notifications/quiet-hours.ts';
import { recipientOf, type RecipientRules } from '../../../src/engine/messages/recipient.ts';
import { HIDDEN_BY } from '../../../src/packed/user-fields.ts';
import { newUser, type User } from '../../../src/rules/user.ts';

const NIGHT: QuietHours = { from: 22 * 60, to: 8 * 60 };
const NOON: QuietHours = { from: 12 * 60, to: 14 * 60 };
const utc = (text: string): number => Date.parse(`${text}:00Z`);

describe('quiet hours', () => {
  it.each([
    [NIGHT, null, '2026-11-29T21:59', null],
    [NIGHT, null, '2026-11-29T22:00', '2026-11-30T08:00'],
    [NIGHT, null, '2026-11-30T00:00', '2026-11-30T08:00'],
    [NIGHT, null, '2026-11-30T07:59', '2026-11-30T08:00'],
    [NIGHT, null, '2026-11-30T08:00', null],
    [NOON, null, '2026-11-30T12:00', '2026-11-30T14:00'],
    [NOON, null, '2026-11-30T14:00', null],
    [NIGHT, 'Asia/Tokyo', '2026-11-29T13:00', '2026-11-29T23:00'],
    // The clocks go back at 03:00: the night has an hour more.
    [NIGHT, 'Europe/Berlin', '2026-10-24T20:00', '2026-10-25T07:00'],
    // They go forward.
    [NIGHT, 'Europe/Berlin', '2026-03-28T21:00', '2026-03-29T06:00'],
    [{ from: 600, to: 600 }, null, '2026-11-30T10:00', null],
  ] as const)('%o in %s at %s end at %s', (hours, zone, at, end) => {
    expect(quietUntilMs(hours, zone, utc(at))).toBe(end === null ? null : utc(end));
  });
});

describe('a recipient', () => {
  const NOW_MS = utc('2026-11-29T12:00');
  const rules = (changes: Partial<RecipientRules> = {}): RecipientRules => ({
    controlShare: 0,
    quietHours: NIGHT,
    isSuppressed: () => false,
    ...changes,
  });
  const user = (changes: Partial<User> = {}): User => ({
    ...newUser(0, { freezes: 0, generation: null }),
    email: 'Ada@example.org',
    ...changes,
  });
  const asked = (state: User | undefined, changes?: Partial<RecipientRules>, nowMs = NOW_MS) =>
    recipientOf({ userId: 'ada', state, kind: 'recap' }, rules(changes), nowMs);

  it('gets an e-mail on the local day', () => {
    expect(asked(user())).toEqual({ address: 'Ada@example.org', localDay: Date.UTC(2026, 10, 29) / 86_400_000 });
    expect(asked(user({ hidden: HIDDEN_BY.user }))).toMatchObject({ address: 'Ada@example.org' });
    expect(asked(user(), {}, utc('2026-11-29T23:00'))).toEqual({
      waitUntilMs: utc('2026-11-30T08:00'),
      reason: 'quiet hours',
    });
  });

  it.each([
    ['deleted', undefined, {}, 'deleted'],
    ['hidden by an administrator', user({ hidden: HIDDEN_BY.admin }), {}, 'hidden'],
    ['without an address', user({ email: null }), {}, 'no address'],
    ['unsubscribed from all', user({ unsubscribed: true }), {}, 'unsubscribed'],
    ['unsubscribed from the kind', user({ notifications: '3233' }), {}, 'unsubscribed'],
    ['in the control group', user(), { controlShare: 1 }, 'control group'],
    ['suppressed', user(), { isSuppressed: (address: string) => address === 'ada@example.org' }, 'suppressed'],
  ])('%s gets none', (_, state, changes, reason) => {
    expect(asked(state, changes)).toEqual({ drop: expect.stringContaining(reason) });
  });
});
