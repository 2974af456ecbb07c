/** Pairs the entries of a document with existing resources, and resolves its references. */
import type { Achievement } from '../../domain/catalog.ts';
import type { Configuration, ConfiguredAchievement, ConfiguredCondition } from '../../domain/configuration.ts';
import { ACHIEVEMENT } from '../../domain/fields/achievement.ts';
import { documentNames } from '../../domain/fields/document.ts';
import type { Field } from '../../domain/fields/field.ts';
import { POINTS_TRIGGER } from '../../domain/fields/points.ts';
import type { Kind } from '../../domain/kinds.ts';
import { suggestion } from '../../domain/nearest.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import type { Fields, ResourceOf } from '../resource-fields.ts';
import { addTo } from '../../grouped.ts';

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
  const paired = new Set<Resource>();
  for (const rule of rules) {
    const unpaired = new Map<string, Resource[]>();
    // In reverse, so that `pop` returns the oldest.
    for (const resource of resources.toReversed()) {
      const text = paired.has(resource) ? null : rule.resource(resource);
      if (text === null) continue;
      addTo(unpaired, text, resource);
    }
    for (const [index, item] of items.entries()) {
      if (pairs[index] !== undefined) continue;
      const text = rule.item(item);
      const match = text === null ? undefined : unpaired.get(text)?.pop();
      if (match === undefined) continue;
      pairs[index] = match;
      paired.add(match);
    }
  }
  return pairs;
}

export const same = <T>(text: (of: T) => string | null): PairingRule<T, T> => ({ item: text, resource: text });

// How resources in a document are identified and found in the catalog.

/** An attribute's type and key. A user attribute and an event attribute may share a key. */
export const nameOfAttribute = ({ type, key }: { type: string; key: string }): string => `${type}:${key}`;
export const attributeName = ({ type, key }: { type: 'user' | 'event'; key: string }): [Noun, string] => [
  `${type} attribute`,
  key,
];
export const achievementName = ({ key, name }: { key?: string | null; name: string }): [Noun, string] =>
  key === undefined || key === null ? ['achievement without a key', name] : ['achievement', key];

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
export const targetOf = (trigger: Fields<'points_trigger'>): string =>
  JSON.stringify([trigger.type, ...TARGETS.map((name) => trigger[name])]);

const TARGETS = Object.entries<Field>(POINTS_TRIGGER).flatMap(([name, one]) =>
  one.refersTo === undefined ? [] : [name as keyof typeof POINTS_TRIGGER],
);

/** Identifies a boost, which has no key, by its name and user. */
export const nameOf = ({ name, userId }: Fields<'points_boost'>): string => JSON.stringify([name, userId]);

export interface DocumentProblem {
  path: string;
  text: string;
}

type Noun =
  | 'metric'
  | 'points system'
  | 'achievement'
  | 'achievement without a key'
  | 'achievement ID'
  | 'leaderboard'
  | 'user attribute'
  | 'event attribute';

/** Further problems of a document have no suggestion. */
const MOST_SUGGESTED = 20;

/** Resolves the keys of a document to IDs. Unknown keys are added to `problems`. */
export class References {
  readonly problems: DocumentProblem[] = [];
  private readonly ids = new Map<string, string>();
  /** Names that are not unique. */
  private readonly shared = new Set<string>();
  private readonly leftOut = new Set<string>();
  private readonly ownerAt: (path: string) => string | null;

  /** @param ownerAt describes a path of the document for a person */
  constructor(ownerAt: (path: string) => string | null) {
    this.ownerAt = ownerAt;
  }

  addPresent(noun: Noun, key: string): void {
    this.leftOut.add(`${noun}:${key}`);
  }

  add(noun: Noun, key: string, id: string): void {
    const named = `${noun}:${key}`;
    const known = this.ids.get(named);
    if (known === undefined) this.ids.set(named, id);
    else if (known !== id) this.shared.add(named);
  }

  /** The ID for a key. `null` if the key is absent, or (with a problem) if it is unknown or its name is not unique. */
  find(noun: Noun, key: string | null | undefined, path: string): string | null {
    if (key === null || key === undefined) return null;
    const named = `${noun}:${key}`;
    if (noun === 'achievement without a key' && this.shared.has(named)) {
      const text = `more than one achievement without a key is called '${key}': refer to it by its ID, or give it a key`;
      this.problems.push({ path, text });
      return null;
    }
    const id = this.ids.get(named);
    if (id !== undefined) return id;
    this.problems.push({ path, text: `unknown ${noun} '${key}'${this.hint(noun, key, path)}` });
    return null;
  }

  findAll(noun: Noun, keys: string[] | undefined, path: string): string[] {
    return (keys ?? []).flatMap((key, index) => this.find(noun, key, `${path}[${index}]`) ?? []);
  }

  conditions(type: 'user' | 'event', given: ConfiguredCondition[] | undefined, path: string): AttributeCondition[] {
    const field = `${path}.${type}Attributes`;
    return (given ?? []).flatMap(({ key, value }, index) => {
      const attributeId = this.find(`${type} attribute`, key, `${field}[${index}].key`);
      return attributeId === null ? [] : [{ attributeId, attributeValue: value }];
    });
  }

  private hint(noun: Noun, key: string, path: string): string {
    if (this.leftOut.has(`${noun}:${key}`))
      return `: the document leaves it out, but ${this.ownerAt(path) ?? 'this'} refers to it`;
    if (noun === 'user attribute' && this.ids.has(`event attribute:${key}`)) return ' (it is an event attribute)';
    if (noun === 'event attribute' && this.ids.has(`user attribute:${key}`)) return ' (it is a user attribute)';
    // Each looks at all keys of the document.
    if (noun === 'achievement ID' || this.problems.length >= MOST_SUGGESTED) return '';
    const known = [...this.ids.keys()].filter((named) => named.startsWith(`${noun}:`));
    return suggestion(
      key,
      known.map((named) => named.slice(noun.length + 1)),
    );
  }
}

const NAMES: [RegExp, string][] = [
  [/^metricId$/, 'metricKey'],
  [/\.metricId$/, '.metricKey'],
  [/^achievementId$/, 'achievementKey'],
  [/^achievementIds/, 'achievementKeys'],
  [/^requires$/, 'requiresKeys'],
  [/^pointsSystemId$/, 'pointsSystemKey'],
  [/^leaderboardId$/, 'leaderboardKey'],
  [/\.attributeId$/, '.key'],
  [/\.attributeValue$/, '.value'],
  [/^badgeUrl$/, 'badge.url'],
];

/**
 * Translates a stored field to the document's terms: `userAttributes[0].attributeId` → `userAttributes[0].key`. Lists of achievements
 * are split into those named by key, by name and by ID. `item`: the item of the document.
 */
export function documentPath(field: string, item: object = {}): string {
  const [, name, index] = /^(achievementIds|requires)\[(\d+)\]$/.exec(field) ?? [];
  if (name === undefined) return NAMES.reduce((path, [pattern, its]) => path.replace(pattern, its), field);
  const names = documentNames(name, ACHIEVEMENT[name as 'achievementIds' | 'requires']);
  const lengths = names.map((its) => (item as Record<string, string[] | undefined>)[its]?.length ?? 0);
  let [place, at] = [0, Number(index)];
  for (; place < names.length - 1 && at >= lengths[place]!; place += 1) at -= lengths[place]!;
  return `${names[place]}[${at}]`;
}

/** Describes what a path of a document refers to, for a person; `null` for a whole list. */
export function ownerAt(document: Required<Configuration>, path: string): string | null {
  if (path.startsWith('streaks.')) return 'the streak settings';
  const [, list, index, part, partIndex] = /^(\w+)\[(\d+)\](?:\.(triggers|boosts)\[(\d+)\])?/.exec(path) ?? [];
  const at = Number(index);
  if (list === 'achievements') {
    const { key, name } = document.achievements[at]!;
    return `achievement '${key ?? name}'`;
  }
  if (list === 'leaderboards') return `leaderboard '${document.leaderboards[at]!.key}'`;
  if (list === 'rewards') return `reward '${document.rewards[at]!.key}'`;
  if (list !== 'pointsSystems' || part === undefined) return null;
  const system = document.pointsSystems[at]!;
  const of = ` of points system '${system.key}'`;
  if (part === 'boosts') return `boost '${system.boosts![Number(partIndex)]!.name}'${of}`;
  return `${system.triggers![Number(partIndex)]!.type} trigger${of}`;
}
