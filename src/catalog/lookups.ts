import type { Achievement, PointsBoost, PointsLevel, PointsTrigger } from '../domain/catalog.ts';
import { groupedBy } from '../grouped.ts';

/**
 * Memoises what is derived from a list, or another object that never changes. Drafts and later versions of a catalog share the lists in
 * which nothing changed, so an edit derives only what concerns its own kinds.
 */
export function once<List extends object, T>(make: (list: List) => T): (list: List) => T {
  const byList = new WeakMap<List, T>();
  return (list) => {
    let known = byList.get(list);
    if (known === undefined) byList.set(list, (known = make(list)));
    return known;
  };
}

export const byNo: <T extends { no: number }>(list: readonly T[]) => ReadonlyMap<number, T> = once(
  (list: readonly { no: number }[]) => new Map(list.map((item) => [item.no, item])),
) as never;

export const byId: <T extends { id: string }>(list: readonly T[]) => ReadonlyMap<string, T> = once(
  (list: readonly { id: string }[]) => new Map(list.map((item) => [item.id, item])),
) as never;

export const byKey: <T extends { key: string | null }>(list: readonly T[]) => ReadonlyMap<string, T> = once(
  (list: readonly { key: string | null }[]) => {
    const keyed = new Map<string, object>();
    for (const item of list) if (item.key !== null) keyed.set(item.key, item);
    return keyed;
  },
) as never;

/** The highest number; 0 without any. */
export const newestIn = once((list: readonly { no: number }[]): number =>
  list.reduce((newest, { no }) => Math.max(newest, no), 0),
);

/** Achievements with the trigger `metric` by ID of the metric, oldest first. */
export const achievementsOfMetrics = once((list: readonly Achievement[]): ReadonlyMap<string | null, Achievement[]> =>
  groupedBy(
    list.filter(({ trigger }) => trigger === 'metric'),
    ({ metricId }) => metricId,
  ),
);

/** Levels by ID of the points system, lowest first. */
export const levelsOfSystems = once((list: readonly PointsLevel[]): ReadonlyMap<string, PointsLevel[]> => {
  const levels = list.toSorted((a, b) => a.points - b.points);
  return groupedBy(levels, ({ systemId }) => systemId);
});

/** Active triggers by ID of the points system, oldest first. */
export const triggersOfSystems = once((list: readonly PointsTrigger[]): ReadonlyMap<string, PointsTrigger[]> =>
  groupedBy(
    list.filter(({ status }) => status === 'active'),
    ({ systemId }) => systemId,
  ),
);

/** Boosts for all users by ID of the points system. */
export const boostsOfSystems = once((list: readonly PointsBoost[]): ReadonlyMap<string, PointsBoost[]> =>
  groupedBy(
    list.filter(({ userId }) => userId === null),
    ({ systemId }) => systemId,
  ),
);

/** Boosts for one user by the user's ID. */
export const boostsOfUsers = once((list: readonly PointsBoost[]): ReadonlyMap<string, PointsBoost[]> => {
  const personal = list.flatMap((boost) => (boost.userId === null ? [] : [[boost.userId, boost] as const]));
  const groups = groupedBy(personal, ([userId]) => userId);
  return new Map([...groups].map(([userId, own]) => [userId, own.map(([, boost]) => boost)]));
});
