/** A part of a user's timeline. */
export interface TimelineRange {
  tenantNo: number;
  userId: string;
  /** Positions, both excluded (`src/domain/timeline-position.ts`). */
  above: string;
  below: string;
  /** Newest first, or oldest. */
  newest: boolean;
  limit: number;
}
