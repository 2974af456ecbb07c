import { Type, type Static } from 'typebox';
import { LocalDate } from './schemas.ts';

export const EventSummaryQuery = Type.Object({
  aggregation: Type.Enum(['daily', 'weekly', 'monthly']),
  startDate: LocalDate,
  endDate: LocalDate,
});
export type EventSummaryQuery = Static<typeof EventSummaryQuery>;

/** One period: its first day, the total at its end, and the change within it. */
export const EventSummaryEntry = Type.Object({
  date: LocalDate,
  total: Type.Number(),
  change: Type.Number(),
});
export type EventSummaryEntry = Static<typeof EventSummaryEntry>;
