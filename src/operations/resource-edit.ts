import type { CatalogDraft } from '../catalog/draft.ts';
import { listOf, parentOf, type Fields, type ResourceOf } from '../catalog/kinds.ts';
import { createChecked, deleteUnreferred, updateChecked } from '../catalog/resource-edits.ts';
import type { Problem } from '../catalog/rules/problem.ts';
import type { Catalog } from '../domain/catalog.ts';
import { DAY_MS, dateOf } from '../domain/periods.ts';
import { AppError } from '../errors.ts';
import type { Kind } from '../postgres/load-catalog.ts';
import type { Deletion } from './bulk.ts';
import type { AdminResource } from './resource.ts';

/** The resources that a path is about: all of the kind, or those of the points system it names (404: unknown). */
export function among<K extends Kind>(
  catalog: Catalog,
  { kind, ofSystem }: AdminResource<K>,
  systemId: string | undefined,
): ResourceOf[K][] {
  if (!ofSystem) return listOf(catalog, kind);
  const id = systemId?.toLowerCase() ?? '';
  if (!catalog.pointsSystems.some((system) => system.id === id))
    throw new AppError('not_found', 'There is no points system with this ID');
  return listOf(catalog, kind).filter((resource) => parentOf(resource) === id);
}

/** Creates each item with its parts, or nothing of it: what it is then, or why it cannot be. */
export function createEach<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { items, systemId }: { items: object[]; systemId: string | undefined },
): (object | string)[] {
  among(draft.catalog, resource, systemId);
  return items.map((item) =>
    draft.attempt(() => {
      const { shown, problems } = createOne(draft, resource, { item, systemId: systemId?.toLowerCase() });
      return problems.length > 0 ? textOf(problems) : shown;
    }),
  );
}

function createOne<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { item, systemId }: { item: object; systemId: string | undefined },
): { shown: object; problems: Problem[] } {
  const utcDay = Math.floor(draft.nowMs / DAY_MS);
  const fields = { ...resource.fields(item, dateOf(utcDay)), ...(systemId !== undefined && { systemId }) };
  const made = createChecked(draft, resource.kind, fields as Fields<K>);
  const parts = Object.entries(resource.parts).flatMap(([name, part]) => {
    const items = (item as Record<string, object[] | undefined>)[name];
    if (items === undefined) return [];
    return [[name, items.map((sent) => createOne(draft, part, { item: sent, systemId: made.resource.id }))] as const];
  });
  return {
    shown: {
      ...resource.show(made.resource, utcDay),
      ...Object.fromEntries(parts.map(([name, all]) => [name, all.map(({ shown }) => shown)])),
    },
    problems: [
      ...made.problems,
      ...parts.flatMap(([name, all]) =>
        all.flatMap(({ problems }, index) =>
          problems.map(({ field, text }) => ({ field: `${name}[${index}].${field}`, text })),
        ),
      ),
    ],
  };
}

/** Updates each item's resource: what it is then, or why it stays as it is. */
export function updateEach<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { items, systemId }: { items: { id: string }[]; systemId: string | undefined },
): (object | string)[] {
  const known = new Set(among(draft.catalog, resource, systemId).map(({ id }) => id));
  const utcDay = Math.floor(draft.nowMs / DAY_MS);
  return items.map((item) =>
    draft.attempt(() => {
      const id = item.id.toLowerCase();
      const before = known.has(id) ? draft.get(resource.kind, id) : undefined;
      if (before === undefined) return unknown(resource);
      const { resource: after, problems } = updateChecked(draft, resource.kind, {
        before,
        ...resource.updated(item, before),
      });
      return problems.length > 0 ? textOf(problems) : resource.show(after, utcDay);
    }),
  );
}

/** Deletes those of the IDs that nothing refers to. */
export function deleteThose<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { ids, systemId }: { ids: string[]; systemId: string | undefined },
): Deletion {
  const known = new Set(among(draft.catalog, resource, systemId).map(({ id }) => id));
  const there = ids.filter((id) => known.has(id));
  const refused = deleteUnreferred(draft, resource.kind, there);
  return { deleted: there.filter((id) => !refused.has(id)), refused };
}

export const unknown = ({ noun }: { noun: string }): string => `There is no ${noun} with this ID`;

/** Most faults of one item that are told. */
const MOST_PROBLEMS = 10;

const textOf = (problems: Problem[]): string =>
  problems
    .slice(0, MOST_PROBLEMS)
    .map(({ field, text }) => `${field.replace('badgeUrl', 'badge.url')}: ${text}`)
    .join('; ') + (problems.length > MOST_PROBLEMS ? `; and ${problems.length - MOST_PROBLEMS} more` : '');
