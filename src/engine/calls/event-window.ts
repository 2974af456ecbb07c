import { DAY_MS } from '../../domain/periods.ts';
import type { EventSettings } from '../../domain/event-settings.ts';
import { AppError } from '../../errors.ts';

/** How far ahead of ours a clock may be. */
const AHEAD_MS = 5 * 60_000;
/** How far back application keys reach, where they may send late events at all. */
const CLIENT_DAYS = 2;

/** Who may send events of which times. */
export interface EventWindow extends EventSettings {
  /** Whether it is an application key that sends. */
  byClient: boolean;
}

/**
 * The time (epoch ms) that an event says it happened at. 403 for an application key that may not say so, 422 for a time that is
 * ahead by more than 5 minutes, or too long ago. The last 24 hours are never too long ago.
 */
export function occurredMs(
  occurredAt: string,
  { lateEventDays, clientsMaySendLate, byClient }: EventWindow,
  nowMs: number,
): number {
  if (byClient && !clientsMaySendLate)
    throw new AppError('forbidden', 'occurredAt: application keys may not say when an event happened.');
  const atMs = Date.parse(occurredAt);
  if (Number.isNaN(atMs)) throw new AppError('invalid', 'occurredAt must be an ISO 8601 date-time with an offset.');
  if (atMs > nowMs + AHEAD_MS)
    throw new AppError('unprocessable', 'occurredAt must not be more than 5 minutes ahead of now.');
  // Today may be sent, whatever the zone and however few days are set.
  const days = Math.max(1, byClient ? Math.min(CLIENT_DAYS, lateEventDays) : lateEventDays);
  if (atMs < nowMs - days * DAY_MS)
    throw new AppError('unprocessable', `occurredAt must not be more than ${days * 24} hours ago.`);
  return atMs;
}
