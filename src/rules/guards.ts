import type { Decimal } from '../domain/decimal.ts';
import { GUARD, GUARD_ACTION, QUARANTINED } from '../packed/guard-fields.ts';
import type { PlanGuard, PlanGuards } from './plan.ts';
import { addTo, isEqual, minus, reaches } from './sums.ts';
import type { GuardSums, Total, User } from './user.ts';

/*
 * Guards of a metric: limits for the value of an event, its rate, and sums. They run in order, each on the value that earlier ones
 * left. A refusal takes precedence over quarantine, and quarantine over clamping. The value that is left counts for the sums.
 */

const HOUR_MS = 3_600_000;

/** A user's events in quarantine, as stored (`QUARANTINED`), and the number of all events in the tenant's quarantine. */
export interface Quarantine {
  events: string;
  total: number;
}

/** What guards decide about an event. `clamped`: the guard that reduced the value; `null` if none did. */
export type GuardDecision =
  | { action: 'allow'; value: Decimal; clampedBy: number | null }
  | { action: 'refused' | 'quarantined' | 'full'; guard: number };

export interface GuardedEvent {
  metric: number;
  value: Decimal;
  nowMs: number;
  /** `null`: now. */
  occurredMs: number | null;
}

/**
 * Applies a metric's guards before any part of an event is applied. Writes the user's sums if the event may be applied. `day`: the
 * user's local day.
 */
export function guard(
  { asked }: PlanGuards,
  user: User,
  event: GuardedEvent,
  { day, quarantine }: { day: number; quarantine: Quarantine },
): GuardDecision {
  const { metric, occurredMs, nowMs } = event;
  // Nothing can have happened later than now. A future time would leave room for later events before it.
  const atMs = occurredMs === null ? nowMs : Math.min(occurredMs, nowMs);
  const sums = sumsOf(user, metric, { hour: Math.floor(atMs / HOUR_MS), day });
  const total = user.totals.get(metric);
  let { value } = event;
  let quarantinedBy: number | null = null;
  let clampedBy: number | null = null;
  for (const each of asked) {
    const allowed = allowedBy(each, value, { atMs, sums, total, isTimeSent: occurredMs !== null });
    if (allowed !== null && isEqual(allowed, value)) continue;
    if (each.action === GUARD_ACTION.refused) return { action: 'refused', guard: each.kind };
    if (each.action === GUARD_ACTION.quarantined) quarantinedBy ??= each.kind;
    else if (allowed !== null) {
      // Not the guard itself, which belongs to the plan.
      value = { whole: allowed.whole, micros: allowed.micros };
      clampedBy = each.kind;
    }
  }
  if (quarantinedBy !== null) return { action: hasRoom(quarantine) ? 'quarantined' : 'full', guard: quarantinedBy };
  addTo(sums.hourSum, value);
  addTo(sums.daySum, value);
  sums.lastMs = Math.max(sums.lastMs ?? atMs, atMs);
  return { action: 'allow', value, clampedBy };
}

/**
 * The user's sums for a metric in an hour and a day. An hour or day before the newest one (events of a batch, a journey west) counts
 * towards the newest, so that nobody gets a limit twice.
 */
function sumsOf({ guarded }: User, metric: number, { hour, day }: { hour: number; day: number }): GuardSums {
  let sums = guarded.get(metric);
  if (sums === undefined) {
    sums = { hour, hourSum: { whole: 0, micros: 0 }, day, daySum: { whole: 0, micros: 0 }, lastMs: null };
    guarded.set(metric, sums);
  }
  if (hour > sums.hour) {
    sums.hour = hour;
    sums.hourSum = { whole: 0, micros: 0 };
  }
  if (day > sums.day) {
    sums.day = day;
    sums.daySum = { whole: 0, micros: 0 };
  }
  return sums;
}

/** The nearest value that a guard allows: the value itself if it is allowed, `null` if no value would be. */
function allowedBy(
  limit: PlanGuard,
  value: Decimal,
  { atMs, sums, total, isTimeSent }: { atMs: number; sums: GuardSums; total: Total | undefined; isTimeSent: boolean },
): Decimal | null {
  switch (limit.kind) {
    case GUARD.minValue:
      return reaches(value, limit) ? value : limit;
    case GUARD.maxValue:
      return reaches(limit, value) ? value : limit;
    case GUARD.minSecondsBetween: {
      if (sums.lastMs === null) return value;
      const gap = atMs - sums.lastMs;
      // Only the newest time is kept. A client that chooses the time must not bypass the guard by going back before it.
      const wait = gap < 0 && !isTimeSent ? -gap : gap;
      return wait < limit.whole * 1000 + limit.micros / 1000 ? null : value;
    }
    case GUARD.maxSumPerHour:
      return roomFor(value, limit, sums.hourSum);
    case GUARD.maxSumPerDay:
      return roomFor(value, limit, sums.daySum);
    default:
      return roomFor(value, limit, total ?? { whole: 0, micros: 0 });
  }
}

/** What a limit of a sum leaves of a value, at least 0. A value that adds nothing is allowed. */
function roomFor(value: Decimal, limit: PlanGuard, sum: Decimal): Decimal {
  if (value.whole < 0 || value.micros < 0) return value;
  const allowed = minus(limit, sum);
  if (allowed.whole < 0 || allowed.micros < 0) return { whole: 0, micros: 0 };
  return reaches(allowed, value) ? value : allowed;
}

const hasRoom = ({ events, total }: Quarantine): boolean =>
  events.length / QUARANTINED.length < QUARANTINED.mostOfUser && total < QUARANTINED.most;

const placeOf = ({ events }: Quarantine, eventId: string): number => {
  for (let at = 0; at < events.length; at += QUARANTINED.length) if (events.startsWith(eventId, at)) return at;
  return -1;
};

export const isInQuarantine = (quarantine: Quarantine, eventId: string): boolean => placeOf(quarantine, eventId) !== -1;

export function addToQuarantine(quarantine: Quarantine, eventId: string, guardKind: number): void {
  quarantine.events += `${eventId}${guardKind}`;
  quarantine.total += 1;
}

/** Removes an event, which must be in quarantine. */
export function takeFromQuarantine(quarantine: Quarantine, eventId: string): void {
  const at = placeOf(quarantine, eventId);
  quarantine.events = quarantine.events.slice(0, at) + quarantine.events.slice(at + QUARANTINED.length);
  quarantine.total -= 1;
}
