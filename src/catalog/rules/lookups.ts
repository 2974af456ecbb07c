import type { Achievement, Attribute, PointsLevel } from '../../domain/catalog.ts';

/**
 * Look-ups in the lists of a catalog, made once for each list: a draft never changes a list, it replaces it. Without them
 * the rules would search a list for every member of another: a document of 15,000 attributes took a minute.
 */
const once = <List extends object, T>(make: (list: List) => T): ((list: List) => T) => {
  const made = new WeakMap<List, T>();
  return (list) => {
    let known = made.get(list);
    if (known === undefined) made.set(list, (known = make(list)));
    return known;
  };
};

/** The IDs in a list. */
export const idsIn = once((list: readonly { id: string }[]): ReadonlySet<string> => new Set(list.map(({ id }) => id)));

/** How many of a list have each text; null: one has none. */
function countsOf<T>(list: readonly T[], text: (of: T) => string | null): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of list) {
    const its = text(one);
    if (its !== null) counts.set(its, (counts.get(its) ?? 0) + 1);
  }
  return counts;
}

/** How many in a list have each key. */
export const keysIn = once((list: readonly { key: string | null }[]) => countsOf(list, ({ key }) => key));

/** How many attributes have each type and key, `user:city`. */
export const attributeKeysIn = once((list: readonly Attribute[]) =>
  countsOf(list, ({ type, key }) => `${type}:${key}`),
);

/** How many achievements without a key have each name. */
export const unkeyedNamesIn = once((list: readonly Achievement[]) =>
  countsOf(list, ({ key, name }) => (key === null ? name : null)),
);

/** How many levels of one points system have each key, and each number of points. */
export const levelsIn = once((list: readonly PointsLevel[]) => ({
  keys: countsOf(list, ({ systemId, key }) => `${systemId}:${key}`),
  points: countsOf(list, ({ systemId, points }) => `${systemId}:${points}`),
}));

/** Attributes by ID. */
export const attributesIn = once(
  (list: readonly Attribute[]): ReadonlyMap<string, Attribute> => new Map(list.map((one) => [one.id, one])),
);

/** Achievements by ID. */
export const achievementsIn = once(
  (list: readonly Achievement[]): ReadonlyMap<string, Achievement> => new Map(list.map((one) => [one.id, one])),
);

/** The achievements whose parts, theirs and so on, come to no end. */
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
