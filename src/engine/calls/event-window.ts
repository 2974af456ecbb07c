import { DAY_MS } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';

/** How far ahead of ours a clock may be. */
const AHEAD_MS = 5 * 60_000;
/** How far back application keys reach, where they may send late events at all. */
const CLIENT_MS = 2 * DAY_MS;

/** Who may send events of which times. */
export interface EventWindow {
  lateEventDays: number;
  clientsMaySendLate: boolean;
  /** Whether it is an application key that sends. */
  byClient: boolean;
}

/**
 * The time (epoch ms) that an event says it happened at. 403 for an application key that may not say so, 422 for a time that is
 * ahead by more than 5 minutes, or too long ago.
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
  const backMs = byClient ? Math.min(CLIENT_MS, lateEventDays * DAY_MS) : lateEventDays * DAY_MS;
  // Of today it may be at any time.
  if (atMs < nowMs - Math.max(backMs, 0) && !(backMs === 0 && atMs > nowMs - DAY_MS))
    throw new AppError('unprocessable', `occurredAt must not be more than ${backMs / DAY_MS} days ago.`);
  return atMs;
}
