import type { Achievement } from '../../domain/catalog.ts';
import type { ConfiguredAchievement } from '../../domain/configuration.ts';
import type { Fields } from '../resource-fields.ts';
import { same, type PairingRule } from './pair.ts';
import type { Noun } from './references.ts';

// What distinguishes the resources of a document, and finds them in the catalog.

/** An attribute's key with its type: a user's and an event's may share a key. */
export const nameOfAttribute = ({ type, key }: { type: string; key: string }): string => `${type}:${key}`;
/** How references name an attribute. */
export const attributeName = ({ type, key }: { type: 'user' | 'event'; key: string }): [Noun, string] => [
  `${type} attribute`,
  key,
];
/** How references name an achievement. */
export const achievementName = ({ key, name }: { key?: string | null; name: string }): [Noun, string] =>
  key === undefined || key === null ? ['achievement without a key', name] : ['achievement', key];

/** What has the same key is the same. */
export const BY_KEY = same(({ key }: { key: string }) => key);

/** Which achievement is which. Of those that share a name and have no ID that is known here, the oldest is the document's first. */
export const ACHIEVEMENT_RULES: PairingRule<ConfiguredAchievement, Achievement>[] = [
  { item: ({ id }) => id?.toLowerCase() ?? null, resource: ({ id }) => id },
  { item: ({ key }) => key ?? null, resource: ({ key }) => key },
  {
    item: ({ key, name }) => (key === undefined ? name : null),
    resource: ({ key, name }) => (key === null ? name : null),
  },
  // A key may be given to an achievement later, or be taken from it.
  { item: ({ key, name }) => (key === undefined ? name : null), resource: ({ name }) => name },
  { item: ({ name }) => name, resource: ({ key, name }) => (key === null ? name : null) },
];

/** Triggers have no key: what a trigger pays for. */
export const targetOf = ({ type, metricId, achievementId }: Fields<'points_trigger'>): string =>
  JSON.stringify([type, metricId, achievementId]);
/** Boosts have no key: a boost's name, and its user. */
export const nameOf = ({ name, userId }: Fields<'points_boost'>): string => JSON.stringify([name, userId]);
