import { Type, type TObject, type TSchema } from 'typebox';
import type { Fields, ResourceOf } from '../catalog/resource-fields.ts';
import { Ids } from '../domain/administration/admin.ts';
import type { Catalog } from '../domain/catalog.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import {
  answeredFields,
  answerFrom,
  changedFields,
  createdFields,
  storedFrom,
  withChanges,
  withDefaults,
} from '../domain/fields/wire.ts';
import type { Kind } from '../domain/kinds.ts';
import { Uuid } from '../domain/schemas.ts';

/** A kind of resource as the admin operations show it. Its schemas and conversions derive from the declaration of its fields. */
export interface AdminResource<K extends Kind> {
  kind: K;
  /** For messages: 'metric'. */
  noun: string;
  /** Start of its operations' IDs: 'admin_metrics'. */
  id: string;
  path: string;
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
export interface ShownAt {
  catalog: Catalog;
  utcDay: number;
}

export type PartKind = 'points_level' | 'points_boost' | 'points_trigger';
type Parts = Record<string, AdminResource<PartKind>>;

interface Definition<K extends Kind> {
  kind: K;
  noun: string;
  id: string;
  path: string;
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
