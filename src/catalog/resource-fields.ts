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
  Reward,
  Webhook,
} from '../domain/catalog.ts';
import { type Kind, LISTS } from '../domain/kinds.ts';

export interface ResourceOf {
  attribute: Attribute;
  metric: Metric;
  achievement: Achievement;
  points_system: PointsSystem;
  points_level: PointsLevel;
  points_trigger: PointsTrigger;
  points_boost: PointsBoost;
  leaderboard: Leaderboard;
  reward: Reward;
  webhook: Webhook;
}

export type Resource = ResourceOf[Kind];

/** The kinds in the document. Webhooks stay out: their targets and secrets belong to one deployment. */
export type DocumentKind = Exclude<Kind, 'webhook'>;

/** Fields that Laurel manages; they cannot be configured. */
type Kept = 'id' | 'no' | 'created' | 'updated' | 'activated' | 'finished';

export type Fields<K extends Kind> = Omit<ResourceOf[K], Kept>;

export const KINDS = Object.keys(LISTS) as Kind[];

export const listOf = <K extends Kind>(catalog: Catalog, kind: K): ResourceOf[K][] =>
  catalog[LISTS[kind]] as unknown as ResourceOf[K][];

export const resourcesIn = (catalog: Catalog): number =>
  KINDS.reduce((sum, kind) => sum + listOf(catalog, kind).length, 0);

const KEPT: ReadonlySet<string> = new Set<Kept>(['id', 'no', 'created', 'updated', 'activated', 'finished']);

const configured = (resource: object): [string, unknown][] =>
  Object.entries(resource).filter(([name]) => !KEPT.has(name));

/** Names of the fields in which two resources would differ once stored, compared as JSON. */
export function differences(before: object, after: object): string[] {
  const values = new Map(configured(before));
  return configured(after).flatMap(([name, value]) => (canonical(value) === canonical(values.get(name)) ? [] : [name]));
}

/** Text that is equal for resources with equal configuration, regardless of the order of fields. */
export const contentOf = (resource: object): string => canonical(Object.fromEntries(configured(resource)))!;

function canonical(value: unknown): string | undefined {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
}

/** Text that must be unique within the kind (and parent); `null` if nothing must be. */
export function identityOf(kind: Kind, resource: object): string | null {
  const { key, type } = resource as { key?: string | null; type?: string };
  if (key === undefined || key === null) return null;
  return kind === 'attribute' ? `${type}:${key}` : key;
}

export const parentOf = (resource: object): string | null => (resource as { systemId?: string }).systemId ?? null;
