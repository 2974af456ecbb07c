import type { Catalog } from '../domain/catalog.ts';

/** What points systems may hold at most, by their numbers; those without a maximum are left out. */
export const pointsLimits = ({ pointsSystems }: Pick<Catalog, 'pointsSystems'>): Record<number, number> =>
  Object.fromEntries(pointsSystems.flatMap(({ no, maxPoints }) => (maxPoints === null ? [] : [[no, maxPoints]])));
