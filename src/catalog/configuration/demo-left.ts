import type { Catalog } from '../../domain/catalog.ts';
import type { Configuration, DemoResource } from '../../domain/configuration.ts';
import { KINDS, listOf, parentOf, type DocumentKind, type Resource } from '../resource-fields.ts';

const OWN_LISTS = {
  attribute: 'attributes',
  metric: 'metrics',
  achievement: 'achievements',
  points_system: 'pointsSystems',
  leaderboard: 'leaderboards',
} as const;
const PART_LISTS = { points_level: 'levels', points_trigger: 'triggers', points_boost: 'boosts' } as const;

/**
 * The demo resources that a document would keep because it omits their lists.
 * @param demo IDs of the demo resources
 */
export function demoLeft(catalog: Catalog, sent: Configuration, demo: ReadonlySet<string>): DemoResource[] {
  const systems = new Map(catalog.pointsSystems.map(({ id, key }) => [id, key]));
  const sentSystems = new Map(sent.pointsSystems?.map((system) => [system.key, system]));
  const stays = (kind: DocumentKind, resource: Resource): boolean => {
    if (kind in OWN_LISTS) return sent[OWN_LISTS[kind as keyof typeof OWN_LISTS]] === undefined;
    if (sent.pointsSystems === undefined) return true;
    const system = sentSystems.get(systems.get(parentOf(resource)!)!);
    return system !== undefined && system[PART_LISTS[kind as keyof typeof PART_LISTS]] === undefined;
  };
  return KINDS.filter((kind) => kind !== 'webhook').flatMap((kind) =>
    listOf(catalog, kind)
      .filter((resource) => demo.has(resource.id) && stays(kind, resource))
      .map((resource) => {
        const system = systems.get(parentOf(resource) ?? '');
        return {
          id: resource.id,
          kind,
          name: nameOf(resource),
          ...(system !== undefined && { pointsSystemKey: system }),
        };
      }),
  );
}

/** The name of a resource in a change: its key, its name if it has no key, or the type of a trigger. */
export function nameOf(resource: object): string {
  const { key, name, type } = resource as { key?: string | null; name?: string; type?: string };
  return key ?? name ?? type ?? '';
}
