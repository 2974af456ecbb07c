import type {
  Achievement,
  Attribute,
  Catalog,
  Leaderboard,
  Metric,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
  Webhook,
} from '../domain/catalog.ts';
import { LISTS, type Kind } from '../domain/kinds.ts';

/** A resource of each kind. */
export interface ResourceOf {
  attribute: Attribute;
  metric: Metric;
  achievement: Achievement;
  points_system: PointsSystem;
  points_level: PointsLevel;
  points_trigger: PointsTrigger;
  points_boost: PointsBoost;
  leaderboard: Leaderboard;
  webhook: Webhook;
}

export type Resource = ResourceOf[Kind];

/**
 * The kinds that the configuration document holds. Webhooks are no part of it: where a deployment's notifications go, and
 * their secrets, belong to the deployment, and a document goes from one to the next.
 */
export type DocumentKind = Exclude<Kind, 'webhook'>;

/** What Laurel sets itself, and no configuration. */
type Kept = 'id' | 'no' | 'created' | 'updated' | 'activated' | 'finished';

/** The fields of a resource that are configured. */
export type Fields<K extends Kind> = Omit<ResourceOf[K], Kept>;

export const KINDS = Object.keys(LISTS) as Kind[];

/** A catalog's resources of a kind, oldest first. */
export const listOf = <K extends Kind>(catalog: Catalog, kind: K): ResourceOf[K][] =>
  catalog[LISTS[kind]] as unknown as ResourceOf[K][];

/** How many resources a catalog has, of all kinds. */
export const resourcesIn = (catalog: Catalog): number =>
  KINDS.reduce((sum, kind) => sum + listOf(catalog, kind).length, 0);

const KEPT: ReadonlySet<string> = new Set<Kept>(['id', 'no', 'created', 'updated', 'activated', 'finished']);

const configured = (resource: object): [string, unknown][] =>
  Object.entries(resource).filter(([name]) => !KEPT.has(name));

/**
 * The names of the configured fields in which two resources differ once they are stored: as JSON, in which -0 is 0
 * and the order of fields says nothing.
 */
export function differences(before: object, after: object): string[] {
  const values = new Map(configured(before));
  return configured(after).flatMap(([name, value]) => (canonical(value) === canonical(values.get(name)) ? [] : [name]));
}

/** A text that resources share which are configured alike, whatever the order of their fields. */
export const contentOf = (resource: object): string => canonical(Object.fromEntries(configured(resource)))!;

function canonical(value: unknown): string | undefined {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
}

/** What no other resource of the kind (and the same parent) may have; null: nothing. */
export function identityOf(kind: Kind, resource: object): string | null {
  const { key, type } = resource as { key?: string | null; type?: string };
  if (key === undefined || key === null) return null;
  return kind === 'attribute' ? `${type}:${key}` : key;
}

/** The points system that a resource is a part of; null for one that is part of none. */
export const parentOf = (resource: object): string | null => (resource as { systemId?: string }).systemId ?? null;
