import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { RecomputationAsked } from '../../domain/recomputation.ts';
import { dateOf } from '../../domain/periods.ts';

/**
 * What of a request cannot be had once events and awards before a day (epoch day; null: none) were dropped, as a sentence; null: all
 * can. Totals, highest totals, streaks and completions are kept; so is what runs of boards add up.
 */
export function missingDetails(
  { catalog }: CompiledCatalog,
  { what, mayRevoke }: Pick<RecomputationAsked, 'what' | 'mayRevoke'>,
  detailsFromDay: number | null,
): string | null {
  if (detailsFromDay === null) return null;
  const dropped = `events and awards before ${dateOf(detailsFromDay)} were dropped (EVENT_RETENTION_DAYS).`;
  if (what.includes('points'))
    return `what: 'points' needs all events in their order, and ${dropped} 'achievements' and 'boards' can be computed without.`;
  if (!what.includes('achievements')) return null;
  const counting = catalog.achievements.find(
    ({ status, trigger, eventAttributes }) => status === 'active' && trigger === 'metric' && eventAttributes.length > 0,
  );
  if (counting !== undefined)
    return `what: 'achievements' needs all events, for '${counting.key ?? counting.name}' counts those with certain attributes, and ${dropped} 'boards' can be computed without.`;
  if (mayRevoke)
    return `mayRevoke needs all awards, to know what achievements paid, and ${dropped} Without it achievements can be computed.`;
  return null;
}
