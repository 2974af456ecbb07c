import type { ReportedPlace } from '../../../postgres/notifications/places.ts';

/** A rank and score on a board. */
export interface Place {
  rank: number;
  value: number;
}

/** A user whose rank is not the one that was reported, nor waits to be. */
export interface Overtaken {
  userId: string;
  /** Null: not on the board. */
  now: Place | null;
  before: { rank: number | null; value: number | null };
}

const NOWHERE = { rank: null, value: null };

/**
 * Users of whom another rank is to be reported. What was reported in a window counts before what was compared last; what
 * waits in one is enough where it is of the rank of now. Where nothing was compared before, those without a window are left
 * out: nobody knows where they were. Pure.
 * @param known the places as they were compared last
 */
export function overtaken({
  now,
  known,
  reported,
}: {
  now: ReadonlyMap<string, Place>;
  known: ReadonlyMap<string, Place>;
  reported: ReadonlyMap<string, ReportedPlace>;
}): Overtaken[] {
  const found: Overtaken[] = [];
  for (const userId of new Set([...known.keys(), ...now.keys()])) {
    const place = now.get(userId) ?? null;
    const window = reported.get(userId);
    if (window === undefined && known.size === 0) continue;
    const { rank, value } = window ?? known.get(userId) ?? NOWHERE;
    const latest = window?.waits === true ? window.waitingRank : rank;
    if (latest !== (place?.rank ?? null)) found.push({ userId, now: place, before: { rank, value } });
  }
  return found;
}
