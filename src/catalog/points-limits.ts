import type { Catalog } from '../domain/catalog.ts';

/** Maximum of each points system, by number; those without a maximum are absent. */
export const pointsLimits = ({ pointsSystems }: Pick<Catalog, 'pointsSystems'>): Record<number, number> =>
  Object.fromEntries(pointsSystems.flatMap(({ no, maxPoints }) => (maxPoints === null ? [] : [[no, maxPoints]])));
