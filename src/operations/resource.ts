import { type TObject, type TSchema, Type } from 'typebox';
import { v7 as uuid } from 'uuid';
import { CatalogIndex } from '../catalog/catalog-index.ts';
import type { CatalogDraft } from '../catalog/draft.ts';
import { deleteUnreferred, updateChecked, workProblems } from '../catalog/resource-edits.ts';
import { type Fields, listOf, parentOf, type ResourceOf, resourcesIn } from '../catalog/resource-fields.ts';
import type { Resources } from '../catalog/resources.ts';
import type { Problem } from '../catalog/rules/problem.ts';
import { problemsOf } from '../catalog/rules/rules.ts';
import { AdminIssue, DeletedResources, Ids, Paging } from '../domain/administration/admin.ts';
import { type Catalog, MOST_RESOURCES } from '../domain/catalog.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import {
  answeredFields,
  answerFrom,
  changedFields,
  createdFields,
  forReaders,
  storedFrom,
  withChanges,
  withDefaults,
} from '../domain/fields/wire.ts';
import type { Kind } from '../domain/kinds.ts';
import { dateOf, earliestLocalDay, epochDay } from '../domain/periods.ts';
import { Uuid } from '../domain/schemas.ts';
import { AppError } from '../errors.ts';
import { Slices } from '../pacing/slices.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach, type Deletion, refuseAny, Strict } from './bulk.ts';
import { type Caller, type Operation, operation } from './operation.ts';

/** A kind of resource as the admin operations show it. Its schemas and conversions derive from the declaration of its fields. */
interface AdminResource<K extends Kind> {
  kind: K;
  /** For messages: 'metric'. */
  noun: string;
  /** Start of its operations' IDs: 'admin_metrics'. */
  id: string;
  path: `/${string}`;
  /** Whether it is a part of a points system, which `path` names as `{systemId}`. */
  ofSystem: boolean;
  answer: TObject;
  /** The answer to a creation, with the resource's parts. */
  created: TObject;
  create: TObject;
  update: TObject;
  /** Limits of active resources, for the descriptions of its operations; `null` if there are none. */
  limits: string | null;
  /** Limit for each tenant; `null` if only that of the whole configuration applies. */
  most: number | null;
  /** All fields that an item may have, including fields of answers, which have no effect. */
  known: TObject;
  ids: TObject<{ ids: typeof Ids.properties.ids }>;
  issueId: 'boostId' | null;
  /** Lists of a create item whose items are created with it. */
  parts: Parts;
  /** The stored fields of a new resource. `item` fits `create`; `today`: `YYYY-MM-DD`. */
  fields(item: object, today: string): Fields<K>;
  /** The stored fields that an item has, and all stored fields after the change. `item` fits `update`. */
  updated(item: object, current: ResourceOf[K]): { sent: Partial<Fields<K>>; fields: Fields<K> };
  show(resource: ResourceOf[K], at: ShownAt): object;
}

/** What an answer about a resource depends on, apart from the resource. */
interface ShownAt {
  catalog: Catalog;
  utcDay: number;
}

type PartKind = 'points_level' | 'points_boost' | 'points_trigger';
type Parts = Record<string, AdminResource<PartKind>>;

interface Definition<K extends Kind> {
  kind: K;
  noun: string;
  id: string;
  path: `/${string}`;
  limits?: string;
  most?: number;
  ids?: AdminResource<K>['ids'];
  issueId?: 'boostId';
  parts?: Parts;
  /** Fields of answers that are not configured: their schemas, and their values. */
  computed?: { schemas: Record<string, TSchema>; of: (resource: ResourceOf[K], at: ShownAt) => object };
  /** Stored fields of a new resource that are not configured. */
  initial?: Partial<Fields<K>>;
  /** Further fields that items may have without effect. */
  ignored?: string[];
}

/** Derives a resource's schemas and conversions from the declaration of its fields. */
export function adminResource<K extends Kind>(definition: Definition<K>): AdminResource<K> {
  const { kind, computed, parts = {}, ignored = [], initial } = definition;
  const fields = FIELDS[kind];
  const updatable = Object.fromEntries(Object.entries(fields).filter(([, { fixed }]) => !fixed));
  const answer = Type.Object({ id: Uuid, ...answeredFields(fields), ...computed?.schemas });
  const partLists = (schema: (part: AdminResource<PartKind>) => TSchema): Record<string, TSchema> =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, Type.Optional(Type.Array(schema(part)))]));
  const create = createdFields(fields);
  return {
    ...definition,
    ofSystem: definition.path.includes('{systemId}'),
    answer,
    created: Type.Object({ ...answer.properties, ...partLists((part) => part.answer) }),
    create: Type.Object({ ...create, ...partLists((part) => part.create) }),
    known: Type.Object({
      ...answer.properties,
      ...create,
      ...partLists((part) => part.known),
      ...Object.fromEntries(ignored.map((name) => [name, Type.Unknown()])),
    }),
    update: Type.Object({ id: Uuid, ...changedFields(fields) }),
    limits: definition.limits ?? null,
    most: definition.most ?? null,
    ids: definition.ids ?? Ids,
    issueId: definition.issueId ?? null,
    parts,
    fields: (item, today) =>
      ({ ...initial, ...withDefaults(fields, storedFrom(fields, item), today) }) as unknown as Fields<K>,
    updated: (item, current) => {
      const sent = storedFrom(updatable, item);
      return {
        sent: sent as Partial<Fields<K>>,
        fields: withChanges(fields, current, sent) as unknown as Fields<K>,
      };
    },
    show: (resource, at) => ({ id: resource.id, ...answerFrom(fields, resource), ...computed?.of(resource, at) }),
  };
}

const List = Type.Object({ systemId: Type.Optional(Uuid) });
const One = Type.Object({ systemId: Type.Optional(Uuid), id: Uuid });

/** The five operations of a resource: `<id>_list`, `_get`, `_create`, `_update` and `_delete`. */
export const resourceOperations = <K extends Kind>(resource: AdminResource<K>, create?: Operation): Operation[] => [
  listOperation(resource),
  getOperation(resource),
  create ?? createOperation(resource),
  updateOperation(resource),
  deleteOperation(resource),
];

/** Oldest first. */
const listOperation = <K extends Kind>(resource: AdminResource<K>): Operation =>
  operation(`${resource.id}_list`, `GET ${resource.path}`, {
    summary: `List: every ${resource.noun}, oldest first`,
    params: List,
    query: Paging,
    responses: { 200: Type.Array(resource.answer) },
    answer: async ({ resources, clock }, { tenant, params, caller, query: { skip, limit } }) => {
      const catalog = await resources.read(tenant.no);
      const at = { catalog, utcDay: epochDay(clock.now()) };
      const all = among(catalog, resource, params.systemId);
      return all.slice(skip, skip + limit).map((one) => shownTo(caller, resource, resource.show(one, at)));
    },
  });

const getOperation = <K extends Kind>(resource: AdminResource<K>): Operation =>
  operation(`${resource.id}_get`, `GET ${resource.path}/{id}`, {
    summary: `Get: one ${resource.noun}`,
    params: One,
    responses: { 200: resource.answer },
    answer: async ({ resources, clock }, { tenant, params, caller }) => {
      const catalog = await resources.read(tenant.no);
      const all = among(catalog, resource, params.systemId);
      const existing = all.find(({ id }) => id === params.id.toLowerCase());
      if (existing === undefined) throw new AppError('not_found', unknown(resource));
      return shownTo(caller, resource, resource.show(existing, { catalog, utcDay: epochDay(clock.now()) }));
    },
  });

/** A resource's answer, as the caller may see it. */
const shownTo = <K extends Kind>(caller: Caller, { kind }: AdminResource<K>, answer: object): object =>
  caller.scope === 'all' ? answer : forReaders(FIELDS[kind], answer);

const STRICT =
  'Valid items are created, and `issues` lists the others: 201 if at least one was created, else 200. With `strict=true`, an item that is refused is 422, and nothing is created.';

/** 201 if at least one was created, else 200. */
function createOperation<K extends Kind>(resource: AdminResource<K>): Operation {
  const items = bulkItems(resource.create, resource.known);
  const Created = Type.Object({ created: Type.Array(resource.created), issues: Type.Array(AdminIssue) });
  return operation(`${resource.id}_create`, `POST ${resource.path}`, {
    summary: `Create: each item is a new ${resource.noun}`,
    description: resource.limits === null ? STRICT : `${STRICT} ${resource.limits}`,
    params: List,
    query: Strict,
    body: items.body,
    bodyBytes: BULK_BODY_BYTES,
    responses: { 200: Created, 201: Created },
    handle: async ({ resources }, { tenant, by, params: { systemId }, query: { strict }, body }) => {
      if (resource.ofSystem) among(await resources.read(tenant.no), resource, systemId);
      const edit = async (good: object[]): Promise<(object | string)[]> => {
        const work = { items: good, systemId, isStrict: strict };
        return (await resources.edit(tenant.no, by, (draft) => createEach(draft, resource, work))).result;
      };
      const { done, issues } = await items.each(body, edit, strict);
      return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
    },
  });
}

function updateOperation<K extends Kind>(resource: AdminResource<K>): Operation {
  const items = bulkItems(resource.update, resource.known);
  return operation(`${resource.id}_update`, `PATCH ${resource.path}`, {
    summary: `Update: each item changes the named fields of one ${resource.noun}`,
    ...(resource.limits !== null && { description: resource.limits }),
    params: List,
    body: items.body,
    bodyBytes: BULK_BODY_BYTES,
    responses: { 200: Type.Object({ updated: Type.Array(resource.answer), issues: Type.Array(AdminIssue) }) },
    answer: async ({ resources }, { tenant, by, params: { systemId }, body }) => {
      if (resource.ofSystem) among(await resources.read(tenant.no), resource, systemId);
      const { done, issues } = await items.each(body, async (good) => {
        const work = { items: good as { id: string }[], systemId };
        return (await resources.edit(tenant.no, by, (draft) => updateEach(draft, resource, work))).result;
      });
      return { updated: done, issues: named(resource, issues) };
    },
  });
}

const deleteOperation = <K extends Kind>(resource: AdminResource<K>): Operation =>
  operation(`${resource.id}_delete`, `DELETE ${resource.path}`, {
    summary: `Delete: each ${resource.noun} that nothing refers to; history keeps its name`,
    params: List,
    query: resource.ids,
    responses: { 200: DeletedResources },
    answer: async ({ resources }, { tenant, by, params: { systemId }, query }) => {
      const work = async (ids: string[]): Promise<Deletion> => {
        const { result } = await resources.edit(tenant.no, by, (draft) => deleteThose(draft, resource, ids, systemId));
        return result;
      };
      const { deleted, issues } = await deleteEach(query.ids, { noun: resource.noun, work });
      return { deleted, issues: named(resource, issues) };
    },
  });

/** Issues of some resources have another field with the ID. */
const named = ({ issueId }: { issueId: string | null }, issues: AdminIssue[]): AdminIssue[] =>
  issueId === null ? issues : issues.map((one) => (one.id === undefined ? one : { ...one, [issueId]: one.id }));

/** The resources that a path refers to: all of the kind, or those of the points system in the path (404 if unknown). */
function among<K extends Kind>(
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

/**
 * Creates each item with its parts, or nothing of it. Returns the resource, or the reason for the failure. `isStrict`: throws 422 if an
 * item failed. Runs in slices.
 */
export async function createEach<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  { items, systemId, isStrict = false }: { items: object[]; systemId: string | undefined; isStrict?: boolean },
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
      const created = storeWithParts(draft, resource, [item], systemId?.toLowerCase());
      const problems = [...created.flatMap((one) => problemsIn(draft, one, '')), ...workProblems(draft)];
      return problems.length > 0 ? textOf(problems) : shownOf(draft, created[0]!);
    });
    outcomes.push(outcome);
    if (slices.over) await slices.turn();
  }
  if (isStrict) refuseAny(outcomes);
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
  items: object[],
  systemId: string | undefined,
): Made<K>[] {
  const today = dateOf(earliestLocalDay(draft.nowMs));
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
      return sent === undefined ? [] : [[name, storeWithParts(draft, part, sent, made.id)]];
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

const shownAt = ({ catalog, nowMs }: CatalogDraft): ShownAt => ({ catalog, utcDay: epochDay(nowMs) });

const shownOf = <K extends Kind>(draft: CatalogDraft, { resource, stored, parts }: Made<K>): object => ({
  ...resource.show(stored, shownAt(draft)),
  ...Object.fromEntries(parts.map(([name, all]) => [name, all.map((part) => shownOf(draft, part))])),
});

/** Updates each item's resource. Returns the resource, or the reason why it stays unchanged. Runs in slices. */
async function updateEach<K extends Kind>(
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
async function deleteThose<K extends Kind>(
  draft: CatalogDraft,
  resource: AdminResource<K>,
  ids: string[],
  systemId: string | undefined,
): Promise<Deletion> {
  const known = new Set(among(draft.catalog, resource, systemId).map(({ id }) => id));
  const existing = ids.filter((id) => known.has(id));
  const refused = await deleteUnreferred(draft, resource.kind, existing);
  return { deleted: existing.filter((id) => !refused.has(id)), refused };
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
  tenantNo: number,
  resource: AdminResource<K>,
  item: object,
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
