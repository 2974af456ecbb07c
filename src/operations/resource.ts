import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import type { Fields, ResourceOf } from '../catalog/resource-fields.ts';
import { Ids } from '../domain/admin.ts';
import { KEY_PATTERN, type AttributeCondition, type Catalog } from '../domain/catalog.ts';
import { Uuid } from '../domain/schemas.ts';
import type { Kind } from '../domain/kinds.ts';

/** A kind of resource as the admin operations show it: its wire schema, and its mapping to what is stored. */
export interface AdminResource<K extends Kind> {
  kind: K;
  /** For a person: 'metric'. */
  noun: string;
  /** Of its operations' IDs: 'admin_metrics'. */
  id: string;
  path: string;
  /** Whether it is a part of a points system, which `path` names as `{systemId}`. */
  ofSystem: boolean;
  answer: TObject;
  /** Of an item just created: the answer, with its parts. */
  created: TObject;
  create: TObject;
  update: TObject;
  /** What their operations say of how many may be in force; null: nothing. */
  limits: string | null;
  /** How many of them a tenant may have; null: as many as a configuration has resources. */
  most: number | null;
  /** Every field that any of these has, and those of its parts: what an item may have, though it may say nothing. */
  known: TObject;
  ids: TObject<{ ids: typeof Ids.properties.ids }>;
  /** What issues call the ID besides `id`. */
  issueId: 'boostId' | null;
  /** Lists of a create item whose items are created with it. */
  parts: Parts;
  /** All stored fields of a new resource, from an item that fits `create`. `today`: `YYYY-MM-DD`. */
  fields(item: object, today: string): Fields<K>;
  /** What an item that fits `update` says, and all stored fields after it. */
  updated(item: object, current: ResourceOf[K]): { sent: Partial<Fields<K>>; fields: Fields<K> };
  show(resource: ResourceOf[K], at: ShownAt): object;
}

/** What the answer about a resource depends on besides it. */
export interface ShownAt {
  catalog: Catalog;
  utcDay: number;
}

export type PartKind = 'points_level' | 'points_boost' | 'points_trigger';
type Parts = Record<string, AdminResource<PartKind>>;

type Item<S extends TProperties> = { [N in keyof S]?: Static<S[N]> };

interface Definition<K extends Kind, S extends TProperties, A extends TObject> {
  kind: K;
  noun: string;
  id: string;
  path: string;
  /** The fields of an item. */
  shape: S;
  /** Those that a new item must have. */
  required: (keyof S & string)[];
  /** Those that cannot be changed: an update does not know them. */
  fixed?: (keyof S & string)[];
  /** Fields that are taken and say nothing: of newer contracts, and of answers. */
  ignored?: string[];
  answer: A;
  limits?: string;
  most?: number;
  ids?: AdminResource<K>['ids'];
  issueId?: 'boostId';
  parts?: Parts;
  /** What an item says of the stored fields. */
  changes: (item: Item<S>) => Partial<Fields<K>>;
  /** The stored fields that a new item says nothing of. `today`: `YYYY-MM-DD`. */
  defaults: (sent: Partial<Fields<K>>, today: string) => Partial<Fields<K>>;
  /** What becomes of fields that an update does not name, but makes meaningless. */
  cleared?: (sent: Partial<Fields<K>>, current: ResourceOf[K]) => Partial<Fields<K>>;
  show: (resource: ResourceOf[K], at: ShownAt) => Static<A>;
}

/** Declares a resource: one shape for what creates it and what updates it. */
export function adminResource<K extends Kind, S extends TProperties, A extends TObject>(
  definition: Definition<K, S, A>,
): AdminResource<K> {
  const { shape, required, fixed = [], ignored = [], parts = {}, answer, changes, defaults, cleared } = definition;
  const nested = Object.entries(parts).map(([name, part]) => [name, Type.Optional(Type.Array(part.create))] as const);
  const own = Object.entries(shape);
  const optional = ([name, schema]: [string, TSchema]): [string, TSchema] => [name, Type.Optional(schema)];
  const updatable = own.filter(([name]) => !fixed.includes(name));
  const known = (item: object, fields: [string, TSchema][]): Item<S> =>
    Object.fromEntries(
      fields.flatMap(([name]) => (Object.hasOwn(item, name) ? [[name, valueOf(item, name)]] : [])),
    ) as Item<S>;
  return {
    ...definition,
    ofSystem: definition.path.includes('{systemId}'),
    created: Type.Object({
      ...answer.properties,
      ...Object.fromEntries(
        Object.entries(parts).map(([name, part]) => [name, Type.Optional(Type.Array(part.answer))] as const),
      ),
    }),
    create: Type.Object({
      ...Object.fromEntries(own.map((field) => (required.includes(field[0]) ? field : optional(field)))),
      ...Object.fromEntries(nested),
    }),
    known: Type.Object({
      ...answer.properties,
      id: Uuid,
      ...shape,
      ...Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, Type.Array(part.known)] as const)),
      ...Object.fromEntries(ignored.map((name) => [name, Type.Unknown()])),
    }),
    update: Type.Object({ id: Uuid, ...Object.fromEntries(updatable.map(optional)) }),
    limits: definition.limits ?? null,
    most: definition.most ?? null,
    ids: definition.ids ?? Ids,
    issueId: definition.issueId ?? null,
    parts,
    fields: (item, today) => {
      const sent = changes(known(item, own));
      return { ...defaults(sent, today), ...sent } as Fields<K>;
    },
    updated: (item, current) => {
      const sent = changes(known(item, updatable));
      return { sent, fields: { ...current, ...cleared?.(sent, current), ...sent } };
    },
  };
}

const valueOf = (item: object, name: string): unknown => (item as Record<string, unknown>)[name];

export const Key = Type.String({ pattern: KEY_PATTERN, minLength: 1, maxLength: 255 });

/** `badge` as it is stored. */
export const badgeUrl = (badge: { url: string } | null | undefined): { badgeUrl?: string | null } =>
  badge === undefined ? {} : { badgeUrl: badge?.url ?? null };

export const badge = (url: string | null): { url: string } | null => (url === null ? null : { url });

/** Conditions as they are stored: null is none. */
export const conditions = (sent: AttributeCondition[] | null): AttributeCondition[] =>
  (sent ?? []).map(({ attributeId, attributeValue }) => ({ attributeId: attributeId.toLowerCase(), attributeValue }));

/** An ID as it is stored. */
export const idOf = (sent: string | null): string | null => sent?.toLowerCase() ?? null;
