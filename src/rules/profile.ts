import { localDay } from '../domain/periods.ts';
import { zoneOffset } from '../domain/zone.ts';
import type { Plan } from './plan.ts';
import type { Refusal } from './refusal.ts';
import { joinSettlements, type LeftOffset, localDayOf, moveStreaks, type Settlements, settleUser } from './streaks.ts';
import type { OwnStreakRule, User } from './user.ts';

/** The user fields of a request. Absent fields are not changed; `null` clears. */
export interface SentProfile {
  name?: string | null;
  email?: string | null;
  /** JSON array. */
  deviceTokens?: string | null;
  subscribe?: boolean;
  /** Attribute number → value. */
  attributes?: ReadonlyMap<number, string>;
  /** IANA name, as the time zone database spells it. */
  zone?: string | null;
  signUpDay?: number;
  /**
   * For application keys: fields that only servers may write, so they must equal the stored values. Numbers of attributes; 0 for
   * the sign-up date.
   */
  serverOnly?: readonly number[];
  /** Preferences, which events do not have. One digit per kind of notification, `-` if not sent. */
  notifications?: string;
  streakRule?: Partial<OwnStreakRule>;
  /** A set of weekdays, valid from the user's next local day. */
  daysOff?: number;
}

export interface Admission {
  /** Name, email address, an attribute or the sign-up date changed. */
  changed: boolean;
  /** The zone changed. */
  moved: boolean;
  /** The zone's previous offset, if only the offset changed. */
  left: LeftOffset | null;
  /** From the change of zone. */
  settlements: Settlements | null;
}

interface ZoneOffset {
  offsetSeconds: number;
  untilMs: number;
}

/** The offset of a zone, which was checked when it was stored. If this machine no longer knows it, it counts as UTC. */
export const offsetOf = (zone: string, nowMs: number): ZoneOffset =>
  zoneOffset(zone, nowMs) ?? { offsetSeconds: 0, untilMs: nowMs + 3_600_000 };

/**
 * The first step of every change of a user: makes sure that the offset of the user's zone is valid now, and applies the sent fields.
 * A refusal leaves the user unchanged.
 */
export function admit(
  user: User,
  sent: SentProfile | null,
  plan: Pick<Plan, 'streak' | 'periods' | 'firstDay'>,
  nowMs: number,
): Admission | Refusal {
  const admission: Admission = { changed: false, moved: false, left: null, settlements: null };
  if (sent !== null) {
    const refusal = refusalOf(user, sent, nowMs);
    if (refusal !== null) return refusal;
    applyProfile(user, sent, admission, nowMs);
    if (sent.zone !== undefined && sent.zone !== user.zone) {
      changeZone(user, sent.zone, { admission, plan, nowMs });
      return admission;
    }
  }
  renewOffset(user, admission, { nowMs, isZoneSent: sent?.zone !== undefined });
  return admission;
}

function refusalOf(user: User, sent: SentProfile, nowMs: number): Refusal | null {
  for (const no of sent.serverOnly ?? []) {
    const isSame =
      no === 0 ? user.signUp?.day === sent.signUpDay : user.attributes.get(no) === sent.attributes?.get(no);
    if (!isSame) return { refusal: 'serverOnly', no };
  }
  if (sent.signUpDay !== undefined && sent.signUpDay > dayWith(user, sent, nowMs)) return { refusal: 'futureSignUp' };
  const email = sent.email === undefined ? user.email : sent.email;
  return sent.subscribe === true && email === null ? { refusal: 'noAddress' } : null;
}

/** The user's local day in the zone that a request leaves the user in. */
function dayWith(user: User, sent: SentProfile, nowMs: number): number {
  const zone = sent.zone === undefined ? user.zone : sent.zone;
  return localDay(nowMs, zone === null ? 0 : offsetOf(zone, nowMs).offsetSeconds);
}

/** A user who unsubscribed stays unsubscribed until an explicit subscription: an address sent along with an event is not consent. */
function applyProfile(user: User, sent: SentProfile, admission: Admission, nowMs: number): void {
  const { name, email } = user;
  if (sent.name !== undefined) user.name = sent.name;
  if (sent.email !== undefined) user.email = sent.email;
  if (sent.subscribe === false) user.email = null;
  if (sent.subscribe !== undefined) user.unsubscribed = !sent.subscribe;
  if (user.name !== name || user.email !== email) admission.changed = true;
  if (sent.deviceTokens !== undefined) user.deviceTokens = sent.deviceTokens;
  for (const [no, value] of sent.attributes ?? []) {
    if (user.attributes.get(no) === value) continue;
    user.attributes.set(no, value);
    admission.changed = true;
  }
  if (sent.signUpDay !== undefined && user.signUp?.day !== sent.signUpDay) {
    user.signUp = { day: sent.signUpDay, years: 0, sinceMs: nowMs };
    admission.changed = true;
  }
}

/** Takes the current offset of the user's zone, if the zone has passed a transition or is sent again. */
function renewOffset(
  user: User,
  admission: Admission,
  { nowMs, isZoneSent }: { nowMs: number; isZoneSent: boolean },
): void {
  const { zone, offsetSeconds, offsetUntilMs } = user;
  if (zone === null || !(isZoneSent || (offsetUntilMs !== null && offsetUntilMs <= nowMs))) return;
  const renewed = offsetOf(zone, nowMs);
  if (renewed.offsetSeconds !== offsetSeconds) admission.left = { offsetSeconds, untilMs: offsetUntilMs };
  user.offsetSeconds = renewed.offsetSeconds;
  user.offsetUntilMs = renewed.untilMs;
}

/** Moves a user to another zone. The streaks are first settled in the previous one. */
function changeZone(
  user: User,
  zone: string | null,
  { admission, plan, nowMs }: { admission: Admission; plan: Parameters<typeof admit>[2]; nowMs: number },
): void {
  const offset = zone === null ? null : offsetOf(zone, nowMs);
  // A user who is created in this zone leaves no other.
  if (user.createdMs !== nowMs || user.streaks.daily.currentPeriod !== null) {
    const previousOffset = { offsetSeconds: user.offsetSeconds ?? 0, untilMs: user.offsetUntilMs };
    if (user.zone !== null && user.offsetUntilMs !== null && user.offsetUntilMs <= nowMs)
      user.offsetSeconds = offsetOf(user.zone, nowMs).offsetSeconds;
    const before = localDay(nowMs, user.offsetSeconds ?? 0);
    const after = localDay(nowMs, offset?.offsetSeconds ?? 0);
    admission.settlements = settleUser(user, plan.streak, localDayOf(plan, before), previousOffset);
    // Moving back changes nothing, but days that had already begun for an active user do not begin again.
    const latest = Math.max(before, user.begunDay ?? before);
    if (after > latest) {
      moveStreaks(user, localDayOf(plan, latest), localDayOf(plan, after));
      const moved: Settlements = { streaks: [], beside: [{ kind: 'moved', from: latest, to: after }] };
      admission.settlements = joinSettlements(admission.settlements, moved);
    }
    user.begunDay = after < latest && user.streaks.daily.currentPeriod !== null ? latest : null;
  }
  // A midnight that has passed in the new zone is not one of the user's past midnights.
  if (user.signUp !== null) user.signUp.sinceMs = nowMs;
  user.zone = zone;
  user.offsetSeconds = offset?.offsetSeconds ?? null;
  user.offsetUntilMs = offset?.untilMs ?? null;
  admission.moved = true;
}

/** Merges sent preferences into those of a user whose streaks are settled to the local day. */
export function applyPreferences(user: User, { notifications, streakRule, daysOff }: SentProfile, day: number): void {
  if (notifications !== undefined) user.notifications = mergedDigits(user.notifications, notifications);
  if (streakRule !== undefined) {
    const own = user.streakRule ?? { enabled: null, all: null, metrics: [] };
    user.streakRule = { ...own, ...streakRule };
  }
  if (daysOff !== undefined) {
    const own = user.daysOff;
    const before = own === null ? null : day >= own.fromDay ? own.set : own.before;
    user.daysOff = { set: daysOff, fromDay: day + 1, before };
  }
}

const mergedDigits = (stored: string | null, sent: string): string =>
  Array.from(sent, (digit, at) => (digit === '-' ? (stored?.[at] ?? '-') : digit)).join('');
