/** A part of a user's timeline. */
export interface TimelineRange {
  tenantNo: number;
  userId: string;
  /** Positions, both exclusive (`src/domain/timeline-position.ts`). */
  above: string;
  below: string;
  /** Newest first; otherwise oldest first. */
  newest: boolean;
  limit: number;
}
