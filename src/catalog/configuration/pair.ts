import type { Kind } from '../../domain/kinds.ts';
import type { ResourceOf } from '../resource-fields.ts';

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
