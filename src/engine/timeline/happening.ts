import type { TimelineAwardRow, TimelineCompletionRow, TimelineEventRow } from '../../postgres/timeline/events.ts';
import type { TimelineRecomputationRow } from '../../postgres/timeline/entries.ts';
import type { Then } from '../../postgres/timeline/catalog-then.ts';
import { groupedBy } from '../../grouped.ts';

export interface Happening {
  position: string;
  /** `null` if it was not an event. */
  event: TimelineEventRow | null;
  /** `null` if it was not a recomputation. */
  recomputation: TimelineRecomputationRow | null;
  awards: TimelineAwardRow[];
  completions: TimelineCompletionRow[];
}

/** When it was applied; `null` if none of its rows exist any longer. */
export function thenOf({ event, awards, completions, recomputation }: Happening): Then | null {
  const any = [event, ...completions, ...awards, recomputation].filter((row) => row !== null);
  const [first] = any;
  if (first === undefined) return null;
  return { version: any.find((row) => row.catalogVersion !== null)?.catalogVersion ?? null, atMs: first.at.getTime() };
}

export function happenings(
  positions: readonly string[],
  rows: {
    events: TimelineEventRow[];
    recomputations: TimelineRecomputationRow[];
    awards: TimelineAwardRow[];
    completions: ReadonlyMap<string, TimelineCompletionRow[]>;
  },
): Happening[] {
  const events = new Map(rows.events.map((event) => [event.id, event]));
  const awards = groupedBy(rows.awards, (award) => award.cause);
  return positions.map((position) => ({
    position,
    event: events.get(position) ?? null,
    recomputation: rows.recomputations.find(({ cause }) => cause === position) ?? null,
    awards: awards.get(position) ?? [],
    completions: rows.completions.get(position) ?? [],
  }));
}
