import type { PlanAchievement } from '../../catalog/plan.ts';
import type { StreakReplay } from '../../domain/replay-repairs.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import type { StoredEvent } from '../../postgres/corrections/reversals.ts';

/** An achievement that goes, unless the user still has what it takes; and what it awarded beyond what the event itself did. */
export interface Revocation {
  achievement: PlanAchievement;
  awards: Compensated[];
}

/** What a reversal is made from: what is stored, and what it comes to. */
export interface PlannedReversal {
  expected: string;
  replay: StreakReplay;
  /** The event at the root, and what is reversed. */
  root: StoredEvent;
  reversed: string;
  voids: boolean;
  /** See `ReversalPlan`. */
  counted: number[];
  awards: Compensated[];
  /** See `ReversalPlan`. */
  held: string[];
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** The user's zone; null: UTC. */
  tz: string | null;
  nowMs: number;
}
