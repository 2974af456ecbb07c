import type { Kind } from '../../domain/kinds.ts';
import type { ResourceOf } from '../resource-fields.ts';

/** An item of the document with the resource that it describes. */
export interface Placed<K extends Kind, Item> {
  path: string;
  item: Item;
  id: string;
  current: ResourceOf[K] | undefined;
}

/** A way to recognise that an item describes a resource: both give the same text. Null: not in this way. */
export interface PairingRule<Item, Resource> {
  item: (item: Item) => string | null;
  resource: (resource: Resource) => string | null;
}

/**
 * Finds for each item of a document the resource that it describes: by each rule in turn, items and resources in
 * their order, every resource once. Undefined: none, the item describes a new one. O(items + resources) a rule.
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
    // The last first, so that `pop` gives the oldest.
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

/** The same on both sides. */
export const same = <T>(text: (of: T) => string | null): PairingRule<T, T> => ({ item: text, resource: text });
