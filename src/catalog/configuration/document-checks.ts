import { MOST_RESOURCES, type Attribute, type Catalog } from '../../domain/catalog.ts';
import type { Configuration, ConfiguredAchievement } from '../../domain/configuration.ts';
import { resourcesIn } from '../resource-fields.ts';
import { nameOfAttribute } from './identity.ts';
import type { Placed } from './pair.ts';
import type { DocumentProblem } from './references.ts';

// Checks of the document as a whole, which the rules of single resources cannot make.

/**
 * Rejects documents that are too long, so it must run first. Resources outside the document also count.
 * @param options.before the catalog before the change
 */
export function tooManyResources(
  document: Required<Configuration>,
  { catalog, before }: { catalog: Catalog; before: Catalog },
): DocumentProblem | null {
  const { attributes, metrics, achievements, pointsSystems, leaderboards } = document;
  const parts = pointsSystems.map(({ levels, triggers, boosts }) =>
    [levels, triggers, boosts].reduce((sum, list) => sum + (list?.length ?? 0), 1),
  );
  const others = [attributes, metrics, achievements, leaderboards, catalog.webhooks];
  const sum = others.reduce((all, list) => all + list.length, 0) + parts.reduce((all, one) => all + one, 0);
  if (sum <= Math.max(MOST_RESOURCES, resourcesIn(before))) return null;
  const most = MOST_RESOURCES.toLocaleString('en-US');
  return { path: 'configuration', text: `has ${sum} resources, and may have ${most} in all` };
}

/** Reports achievements with the ID of an earlier one. */
export function repeatedIds(achievements: readonly Placed<'achievement', ConfiguredAchievement>[]): DocumentProblem[] {
  const seen = new Set<string>();
  return achievements.flatMap(({ item, path }) => {
    const id = item.id?.toLowerCase();
    if (id === undefined) return [];
    if (seen.has(id)) return [{ path: `${path}.id`, text: 'another achievement of the document has this ID' }];
    seen.add(id);
    return [];
  });
}

/** Reports changed attribute types. They would make users' values meaningless. */
export function changedTypes(
  attributes: readonly Placed<'attribute', { key: string; type: string }>[],
  present: readonly Attribute[],
): DocumentProblem[] {
  const before = new Map(present.map((attribute) => [nameOfAttribute(attribute), attribute]));
  const kept = new Set(attributes.map(({ current }) => current));
  return attributes.flatMap(({ item, current, path }) => {
    const other = before.get(nameOfAttribute({ ...item, type: item.type === 'user' ? 'event' : 'user' }));
    if (current !== undefined || other === undefined || kept.has(other)) return [];
    const is = other.type === 'user' ? 'a user' : 'an event';
    const text = `'${item.key}' is ${is} attribute, and the type of an attribute cannot be changed: delete it first`;
    return [{ path: `${path}.type`, text }];
  });
}

/** The paths with problems and their parents. A rule's finding at one of them is a consequence. */
export const brokenPaths = (problems: readonly DocumentProblem[]): ReadonlySet<string> =>
  new Set(
    problems.flatMap(({ path }) => {
      // Rules report stored references; they know neither names nor the document's IDs.
      const known = path.replace(/\.achievement(Name|Id)/, '.achievementKey');
      return [known, ...[...known.matchAll(/\[/g)].map(({ index }) => known.slice(0, index))];
    }),
  );
