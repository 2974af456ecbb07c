import type { Achievement } from '../../domain/catalog.ts';
import type { ConfiguredAchievement } from '../../domain/configuration.ts';
import type { Kind } from '../../domain/kinds.ts';
import type { Fields, ResourceOf } from '../resource-fields.ts';
import type { Noun } from './references.ts';

/** An item of the document and the resource that it describes. */
export interface Placed<K extends Kind, Item> {
  path: string;
  item: Item;
  id: string;
  current: ResourceOf[K] | undefined;
}

/** A rule that pairs an item with a resource if both yield the same text. `null`: the rule does not apply. */
export interface PairingRule<Item, Resource> {
  item: (item: Item) => string | null;
  resource: (resource: Resource) => string | null;
}

/**
 * Finds the resource that each item of a document describes. Applies the rules in turn, items and resources in order, and uses each resource
 * once. `undefined` means that the item is new. O(items + resources) per rule.
 */
export function pair<Item, Resource>(
  items: Item[],
  resources: Resource[],
  rules: PairingRule<Item, Resource>[],
): (Resource | undefined)[] {
  const pairs: (Resource | undefined)[] = items.map(() => undefined);
  const taken = new Set<Resource>();
  for (const rule of rules) {
    const left = new Map<string, Resource[]>();
    // In reverse, so that `pop` returns the oldest.
    for (const resource of resources.toReversed()) {
      const text = taken.has(resource) ? null : rule.resource(resource);
      if (text === null) continue;
      const sharing = left.get(text);
      if (sharing === undefined) left.set(text, [resource]);
      else sharing.push(resource);
    }
    for (const [index, item] of items.entries()) {
      if (pairs[index] !== undefined) continue;
      const text = rule.item(item);
      const found = text === null ? undefined : left.get(text)?.pop();
      if (found === undefined) continue;
      pairs[index] = found;
      taken.add(found);
    }
  }
  return pairs;
}

/** A rule with the same text for both sides. */
export const same = <T>(text: (of: T) => string | null): PairingRule<T, T> => ({ item: text, resource: text });

// How resources in a document are identified and found in the catalog.

/** An attribute's type and key. A user attribute and an event attribute may share a key. */
export const nameOfAttribute = ({ type, key }: { type: string; key: string }): string => `${type}:${key}`;
/** How references name an attribute. */
export const attributeName = ({ type, key }: { type: 'user' | 'event'; key: string }): [Noun, string] => [
  `${type} attribute`,
  key,
];
/** How references name an achievement. */
export const achievementName = ({ key, name }: { key?: string | null; name: string }): [Noun, string] =>
  key === undefined || key === null ? ['achievement without a key', name] : ['achievement', key];

/** Pairs items and resources with the same key. */
export const BY_KEY = same(({ key }: { key: string }) => key);

/** How achievements are paired. Among those with the same name and no known ID, the oldest is paired with the document's first. */
export const ACHIEVEMENT_RULES: PairingRule<ConfiguredAchievement, Achievement>[] = [
  { item: ({ id }) => id?.toLowerCase() ?? null, resource: ({ id }) => id },
  { item: ({ key }) => key ?? null, resource: ({ key }) => key },
  {
    item: ({ key = null, name }) => (key === null ? name : null),
    resource: ({ key, name }) => (key === null ? name : null),
  },
  // An achievement may gain or lose its key.
  { item: ({ key = null, name }) => (key === null ? name : null), resource: ({ name }) => name },
  { item: ({ name }) => name, resource: ({ key, name }) => (key === null ? name : null) },
];

/** Identifies a trigger, which has no key, by its target. */
export const targetOf = ({ type, metricId, achievementId }: Fields<'points_trigger'>): string =>
  JSON.stringify([type, metricId, achievementId]);
/** Identifies a boost, which has no key, by its name and user. */
export const nameOf = ({ name, userId }: Fields<'points_boost'>): string => JSON.stringify([name, userId]);
