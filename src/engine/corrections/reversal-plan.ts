import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { pointsLimits } from '../../catalog/points-limits.ts';
import { parseDecimal } from '../../domain/decimal.ts';
import { dayOf } from '../../domain/periods.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { awardDay, boardMoves, type BoardMove } from './board-moves.ts';
import { repairsOf, replayed, type Replayed } from './packed-replay.ts';
import type { PlannedReversal, Revocation } from './planned-reversal.ts';

/** What `lua/reverse_event.lua` is to do; its names are used there. */
export interface ReversalPlan {
  /** See `stateDigest`. */
  expected: string;
  /** 32 hex digits: the event at the root, and what is reversed: that event, or the last reversal of it. */
  root: string;
  reversed: string;
  /** Whether the event at the root counts no more; false: it counts again. */
  voids: boolean;
  metric: number;
  /** The value of what is reversed. */
  whole: number;
  micros: number;
  /** When the event at the root happened, and the user's local day (epoch day) of that. */
  occurredMs: number;
  occurredDay: number;
  /** The local day (epoch day) of what it awarded: a late event awards when it comes. */
  day: number;
  /** Event attributes, JSON; left out: none. */
  attributes?: string;
  /** The user's streaks and freezes with it, see `lua/lib/replay.lua`; and what of the stored changes no longer holds. */
  replayed: Replayed;
  superseded: string[];
  repairs: number[][];
  /** Numbers of the achievements and triggers that counted the event. */
  counted: number[];
  /** What is taken, negative where it is given. */
  awards: Compensated[];
  /** Which of these, and of what revoked achievements awarded, stay as they are: another reversal in force has taken them too. */
  held: string[];
  /** Maxima of points systems by number. */
  limits: Record<number, number>;
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** Runs that are not final in which the event counted. */
  boards: BoardMove[];
}

/** Makes the plan of a reversal from what is stored. Pure. */
export function reversalPlan(compiled: CompiledCatalog, planned: PlannedReversal): ReversalPlan {
  const { root, voids, reversed, counted, awards, held, revoked, restored, expected, replay } = planned;
  const value = parseDecimal(root.value);
  const sign = voids ? 1 : -1;
  return {
    expected,
    root: root.id,
    reversed,
    voids,
    metric: root.metricNo,
    whole: sign * value.whole,
    micros: sign * value.micros,
    occurredMs: root.occurredMs,
    occurredDay: dayOf(root.localDate),
    day: awardDay(planned),
    ...(root.attributes !== null && { attributes: JSON.stringify(root.attributes) }),
    replayed: replayed(replay),
    ...repairsOf(replay),
    counted,
    awards,
    held,
    limits: pointsLimits(compiled.catalog),
    revoked,
    restored,
    boards: boardMoves(compiled, planned, { whole: -sign * value.whole, micros: -sign * value.micros }),
  };
}
