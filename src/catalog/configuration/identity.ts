import type { Achievement } from '../../domain/catalog.ts';
import type { ConfiguredAchievement } from '../../domain/configuration.ts';
import type { Fields } from '../resource-fields.ts';
import { same, type PairingRule } from './pair.ts';
import type { Noun } from './references.ts';

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
