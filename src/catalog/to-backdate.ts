import { isDeepStrictEqual } from 'node:util';
import type { Achievement } from '../domain/catalog.ts';
import type { Change } from './draft.ts';

/** Fields that determine who qualifies. */
const CONDITIONS = [
  'trigger',
  'metricId',
  'metricValue',
  'streakLength',
  'anniversaryYears',
  'achievementIds',
  'userAttributes',
  'eventAttributes',
] as const satisfies (keyof Achievement)[];

/**
 * Achievements that an edit activated, or changed while active, so that some users may already qualify. Excludes achievements that only calls
 * complete.
 */
export function toBackdate(changes: readonly Change[]): Achievement[] {
  return changes.flatMap(({ kind, before, after }) => {
    if (kind !== 'achievement' || after === null) return [];
    const [was, is] = [before as Achievement | null, after as Achievement];
    if (is.status !== 'active' || is.trigger === 'api') return [];
    const same = was?.status === 'active' && CONDITIONS.every((name) => isDeepStrictEqual(was[name], is[name]));
    return same ? [] : [is];
  });
}
