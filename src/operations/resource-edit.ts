import { v7 as uuid } from 'uuid';
import { CatalogIndex } from '../catalog/catalog-index.ts';
import type { CatalogDraft } from '../catalog/draft.ts';
import { deleteUnreferred, updateChecked, workProblems } from '../catalog/resource-edits.ts';
import { type Fields, listOf, parentOf, type ResourceOf, resourcesIn } from '../catalog/resource-fields.ts';
import type { Resources } from '../catalog/resources.ts';
import type { Problem } from '../catalog/rules/problem.ts';
import { problemsOf } from '../catalog/rules/rules.ts';
import { type Catalog, MOST_RESOURCES } from '../domain/catalog.ts';
import type { Kind } from '../domain/kinds.ts';
import { dateOf, DAY_MS } from '../domain/periods.ts';
import { AppError } from '../errors.ts';
import { Slices } from '../slices.ts';
import type { Deletion } from './bulk.ts';
import type { AdminResource, PartKind, ShownAt } from './resource.ts';

/** The resources that a path refers to: all of the kind, or those of the points system in the path (404 if unknown). */
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

/** Creates each item with its parts, or nothing of it. Returns the resource, or the reason for the failure. Runs in slices. */
export async function createEach<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { items, systemId }: { items: object[]; systemId: string | undefined },
): Promise<(object | string)[]> {
  among(draft.catalog, resource, systemId);
  const slices = new Slices();
  const outcomes: (object | string)[] = [];
  for (const item of items) {
    const outcome = draft.attempt(() => {
      if (resourcesIn(draft.catalog) + sizeOf(resource, item) > MOST_RESOURCES) return FULL;
      const { kind, most, noun } = resource;
      if (most !== null && listOf(draft.catalog, kind).length >= most)
        return `There are at most ${most} ${noun}s: delete some first`;
      const made = storeWithParts(draft, resource, { items: [item], systemId: systemId?.toLowerCase() });
      const problems = [...made.flatMap((one) => problemsIn(draft, one, '')), ...workProblems(draft)];
      return problems.length > 0 ? textOf(problems) : shownOf(draft, made[0]!);
    });
    outcomes.push(outcome);
    if (slices.over) await slices.turn();
  }
  return outcomes;
}

const FULL = `A configuration has at most ${MOST_RESOURCES.toLocaleString('en-US')} resources in all: delete some first`;

interface Made<K extends Kind> {
  resource: AdminResource<K>;
  stored: ResourceOf[K];
  parts: [name: string, made: Made<PartKind>[]][];
}

const partsOf = (item: object, name: string): object[] | undefined =>
  (item as Record<string, object[] | undefined>)[name];

const sizeOf = <K extends Kind>({ parts }: AdminResource<K>, item: object): number =>
  Object.keys(parts).reduce((sum, name) => sum + (partsOf(item, name)?.length ?? 0), 1);

/** Stores items, and then all parts of a kind at once, so that the cost is not quadratic. */
function storeWithParts<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { items, systemId }: { items: object[]; systemId: string | undefined },
): Made<K>[] {
  const today = dateOf(Math.floor(draft.nowMs / DAY_MS));
  const fields = items.map(
    (item) => ({ ...resource.fields(item, today), ...(systemId !== undefined && { systemId }) }) as Fields<K>,
  );
  const stored = draft.storeAll(
    resource.kind,
    fields.map((its) => ({ id: uuid(), fields: its })),
  );
  return stored.map((made, index) => ({
    resource,
    stored: made,
    parts: Object.entries(resource.parts).flatMap(([name, part]) => {
      const sent = partsOf(items[index]!, name);
      return sent === undefined ? [] : [[name, storeWithParts(draft, part, { items: sent, systemId: made.id })]];
    }),
  }));
}

/** The problems of a resource and its parts; fields are named relative to the item. */
const problemsIn = <K extends Kind>(
  draft: CatalogDraft,
  { resource, stored, parts }: Made<K>,
  at: string,
): Problem[] => [
  ...problemsOf(resource.kind, stored, draft).map(({ field, text }) => ({ field: `${at}${field}`, text })),
  ...parts.flatMap(([name, all]) => all.flatMap((part, index) => problemsIn(draft, part, `${at}${name}[${index}].`))),
];

const shownAt = ({ catalog, nowMs }: CatalogDraft): ShownAt => ({ catalog, utcDay: Math.floor(nowMs / DAY_MS) });

const shownOf = <K extends Kind>(draft: CatalogDraft, { resource, stored, parts }: Made<K>): object => ({
  ...resource.show(stored, shownAt(draft)),
  ...Object.fromEntries(parts.map(([name, all]) => [name, all.map((part) => shownOf(draft, part))])),
});

/** Updates each item's resource. Returns the resource, or the reason why it stays unchanged. Runs in slices. */
export async function updateEach<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { items, systemId }: { items: { id: string }[]; systemId: string | undefined },
): Promise<(object | string)[]> {
  const known = new Set(among(draft.catalog, resource, systemId).map(({ id }) => id));
  const slices = new Slices();
  const outcomes: (object | string)[] = [];
  for (const item of items) {
    const outcome = draft.attempt(() => {
      const id = item.id.toLowerCase();
      const before = known.has(id) ? draft.get(resource.kind, id) : undefined;
      if (before === undefined) return unknown(resource);
      const { resource: after, problems } = updateChecked(draft, resource.kind, {
        before,
        ...resource.updated(item, before),
      });
      return problems.length > 0 ? textOf(problems) : resource.show(after, shownAt(draft));
    });
    outcomes.push(outcome);
    if (slices.over) await slices.turn();
  }
  return outcomes;
}

/** Deletes those IDs to which nothing refers. */
export async function deleteThose<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { ids, systemId }: { ids: string[]; systemId: string | undefined },
): Promise<Deletion> {
  const known = new Set(among(draft.catalog, resource, systemId).map(({ id }) => id));
  const there = ids.filter((id) => known.has(id));
  const refused = await deleteUnreferred(draft, resource.kind, there);
  return { deleted: there.filter((id) => !refused.has(id)), refused };
}

export const unknown = ({ noun }: { noun: string }): string => `There is no ${noun} with this ID`;

const MOST_PROBLEMS = 10;

const textOf = (problems: Problem[]): string =>
  problems
    .slice(0, MOST_PROBLEMS)
    .map(({ field, text }) => `${field.replace('badgeUrl', 'badge.url')}: ${text}`)
    .join('; ') + (problems.length > MOST_PROBLEMS ? `; and ${problems.length - MOST_PROBLEMS} more` : '');

/** Not a resource's number: numbers begin with 1. */
const NO_NUMBER = 0;

/** The resource that an item would create or change, with the resulting catalog. Stores nothing. Throws 422. */
export async function previewOf<K extends Kind>(
  resources: Resources,
  { tenantNo, resource, item }: { tenantNo: number; resource: AdminResource<K>; item: object },
): Promise<{ catalog: CatalogIndex; previewed: ResourceOf[K] }> {
  const { id } = item as { id?: string };
  const { result } = await resources.preview(tenantNo, async (draft) => {
    const [outcome] =
      id === undefined
        ? await createEach(draft, resource, { items: [item], systemId: undefined })
        : await updateEach(draft, resource, { items: [{ ...item, id }], systemId: undefined });
    if (typeof outcome !== 'object') throw new AppError('unprocessable', outcome ?? '');
    const stored = draft.get(resource.kind, (outcome as { id: string }).id)!;
    return { catalog: draft.catalog, previewed: id === undefined ? { ...stored, no: NO_NUMBER } : stored };
  });
  return { catalog: new CatalogIndex(result.catalog), previewed: result.previewed };
}
