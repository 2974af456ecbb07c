import type { Achievement, Attribute, PointsLevel } from '../../domain/catalog.ts';

/**
 * Memoises lookups per list; a draft replaces its lists and never changes them in place. Without this, rules would search one list for each member
 * of another: a document of 15,000 attributes took a minute.
 */
const once = <List extends object, T>(make: (list: List) => T): ((list: List) => T) => {
  const made = new WeakMap<List, T>();
  return (list) => {
    let known = made.get(list);
    if (known === undefined) made.set(list, (known = make(list)));
    return known;
  };
};

export const idsIn = once((list: readonly { id: string }[]): ReadonlySet<string> => new Set(list.map(({ id }) => id)));

/** Number of items per text. Items whose text is `null` are not counted. */
function countsOf<T>(list: readonly T[], text: (of: T) => string | null): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of list) {
    const its = text(one);
    if (its !== null) counts.set(its, (counts.get(its) ?? 0) + 1);
  }
  return counts;
}

/** Number of items per key. */
export const keysIn = once((list: readonly { key: string | null }[]) => countsOf(list, ({ key }) => key));

/** Number of attributes per type and key, e.g. `user:city`. */
export const attributeKeysIn = once((list: readonly Attribute[]) =>
  countsOf(list, ({ type, key }) => `${type}:${key}`),
);

/** Number of achievements without a key, per name. */
export const unkeyedNamesIn = once((list: readonly Achievement[]) =>
  countsOf(list, ({ key, name }) => (key === null ? name : null)),
);

/** Number of a points system's levels per key, and per number of points. */
export const levelsIn = once((list: readonly PointsLevel[]) => ({
  keys: countsOf(list, ({ systemId, key }) => `${systemId}:${key}`),
  points: countsOf(list, ({ systemId, points }) => `${systemId}:${points}`),
}));

export const attributesIn = once(
  (list: readonly Attribute[]): ReadonlyMap<string, Attribute> => new Map(list.map((one) => [one.id, one])),
);

export const achievementsIn = once(
  (list: readonly Achievement[]): ReadonlyMap<string, Achievement> => new Map(list.map((one) => [one.id, one])),
);

/** Achievements whose parts, directly or indirectly, include themselves. */
export const endlessIn = once((list: readonly Achievement[]): ReadonlySet<string> => {
  const byId = achievementsIn(list);
  const open = new Map(
    list.map(({ id, achievementIds }) => [id, achievementIds.filter((part) => byId.has(part)).length]),
  );
  const partOf = new Map<string, string[]>();
  for (const { id, achievementIds } of list) {
    for (const part of achievementIds) {
      const whole = partOf.get(part);
      if (whole === undefined) partOf.set(part, [id]);
      else whole.push(id);
    }
  }
  const ended = list.filter(({ id }) => open.get(id) === 0).map(({ id }) => id);
  for (let id = ended.pop(); id !== undefined; id = ended.pop()) {
    for (const whole of partOf.get(id) ?? []) {
      const left = open.get(whole)! - 1;
      open.set(whole, left);
      if (left === 0) ended.push(whole);
    }
  }
  return new Set([...open].filter(([, left]) => left > 0).map(([id]) => id));
});
