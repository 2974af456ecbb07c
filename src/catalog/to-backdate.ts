import { isDeepStrictEqual } from 'node:util';
import type { Achievement } from '../domain/catalog.ts';
import type { Change } from './draft.ts';

/** What decides who qualifies. */
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
 * The achievements that an edit activated, or changed while active, so that users may qualify already. Those
 * completed by call are nobody's until they are called.
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
