import { useToday } from '../../api/clock.ts';
import { dayAfter } from '../../ui/format.ts';

export const WEEK_DAYS = 7;
/** Ranges end yesterday, so their figures change little: by late events, and in zones where it is still yesterday. */
const READ_MS = 600_000;
export const POLLED = { refetchInterval: READ_MS };

type Range = { from: string; to: string };

/** The last 7 days up to yesterday, yesterday, and the same weekday a week before. */
export function useRanges(): { week: Range; ranges: readonly [Range, Range, Range] } {
  const today = useToday();
  const yesterday = dayAfter(today, -1);
  const weekBefore = dayAfter(yesterday, -WEEK_DAYS);
  const week = { from: dayAfter(today, -WEEK_DAYS), to: yesterday };
  return { week, ranges: [week, { from: yesterday, to: yesterday }, { from: weekBefore, to: weekBefore }] };
}
