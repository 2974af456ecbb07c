import { Type, type Static, type TSchema } from 'typebox';
import { AttributeCondition, Badge, Description, KEY_PATTERN, Nullable, ResourceName, Uuid } from '../schemas.ts';

/**
 * Fields of resources. Each field is declared once, in the other files of this folder. Requests, answers, the stored form, the
 * configuration document, the texts of the OpenAPI documents and the console's forms all derive from that declaration.
 */

/** Applies if another field of the resource has one of these values; without values, if that field is set. */
export interface When {
  readonly field: string;
  readonly is: readonly (string | boolean)[];
  /** Name of such resources in messages; default: `trigger 'metric'`. */
  readonly called?: string;
}

/** The resources that a field's IDs refer to. The document refers to them by key. */
export type Referred =
  | 'metric'
  | 'points system'
  | 'achievement'
  | 'leaderboard'
  | 'user attribute'
  | 'event attribute';

/** Means `value`, with the field `of` multiplied by `times`; of a request without that field: set to `times`. */
export interface Alias {
  readonly value: string;
  readonly times: number;
  readonly of: string;
}

export interface Field {
  /** Schema of a value in requests and answers. */
  readonly schema: TSchema;
  /** Further values in requests and the document. `storedFrom` replaces them, so nothing else sees them. */
  readonly aliases?: Readonly<Record<string, Alias>>;
  /** Name in the console. */
  readonly label: string;
  /** Description for the OpenAPI documents. */
  readonly description: string;
  readonly example?: unknown;
  /** A new resource must have a value; with a condition, only if the condition applies. */
  readonly required?: true | When;
  /** Set on creation only, and never changed. */
  readonly fixed?: true;
  /** Only existing resources can have a value. */
  readonly onlyChanged?: true;
  /** Only resources to which this applies can have a value. */
  readonly when?: When;
  /** `null` in a request removes the value. For other fields `null` means "not sent". */
  readonly clearable?: true;
  /** Stored if a new resource has no value. */
  readonly default?: unknown;
  /** Stored instead of `default` if `when` applies. */
  readonly defaultWhen?: unknown;
  /** How answers show a missing value. Default: `null` if the field is clearable, otherwise not at all. */
  readonly ifUnset?: 'omitted' | 'empty';
  /** Laurel's addition: other servers of the contract lack the field. */
  readonly addition?: true;
  readonly refersTo?: Referred;
  /** The value is a list of conditions on attributes of this type. */
  readonly conditionsOn?: 'user' | 'event';
  /** Name of the stored field, if it differs. */
  readonly stored?: 'badgeUrl';
  /** Converts a value to its stored form. */
  readonly normalise?: (value: never) => unknown;
  /** Converts a value of an answer to what keys that may only read see of it. */
  readonly forReaders?: (value: never) => unknown;
  readonly form?: FormOptions;
}

/** How the console's form shows a field, as far as the schema leaves it open. */
export interface FormOptions {
  /** A sentence below the input. */
  readonly hint?: string;
  /** Value in the form of a new resource; default: the field's default. */
  readonly initial?: unknown;
  /** Labels of an enumeration's values; default: the values. */
  readonly options?: Readonly<Record<string, string>>;
}

export type Fields = Readonly<Record<string, Field>>;

export const field = <S extends TSchema, const O extends Omit<Field, 'schema'>>(
  schema: S,
  options: O,
): { schema: S } & O => ({ schema, ...options });

/** Default of a day: the earliest local day of any user at the time of creation (`earliestLocalDay`), so that no zone is left out. */
export const TODAY = 'today';

export const only = (name: string, ...is: (string | boolean)[]): When => ({ field: name, is });

export const applies = (when: When | undefined, values: object): boolean => {
  if (when === undefined) return true;
  const value = (values as Record<string, unknown>)[when.field];
  return when.is.length === 0 ? value !== null && value !== undefined : when.is.includes(value as string | boolean);
};

type StoredSchema<F extends Field> = F extends { clearable: true }
  ? ReturnType<typeof Nullable<F['schema']>>
  : F['schema'];

/** Schema of settings, which always have a value for each field. */
export const objectOf = <D extends Fields>(fields: D) =>
  Type.Object(
    Object.fromEntries(
      Object.entries(fields).map(([name, { schema, clearable, description }]) => [
        name,
        { ...(clearable ? Nullable(schema) : schema), description },
      ]),
    ) as unknown as { [N in keyof D]: StoredSchema<D[N]> },
  );

export const defaultsOf = <D extends Fields>(fields: D) =>
  Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.default])) as {
    -readonly [N in keyof D]: Static<StoredSchema<D[N]>>;
  };

export const NAME = field(ResourceName, {
  label: 'Name',
  description: 'Name for people.',
  example: 'Flashcards flipped',
  required: true,
});

export const KEY = field(Type.String({ pattern: KEY_PATTERN, minLength: 1, maxLength: 255 }), {
  label: 'Key',
  description: 'Key of the resource.',
  example: 'flashcards-flipped',
  required: true,
});

export const DESCRIPTION = field(Description, {
  label: 'Description',
  description: 'A text for people.',
  default: null,
});

export const BADGE = field(Badge, {
  label: 'Badge',
  description: 'The badge; null: none.',
  stored: 'badgeUrl',
  clearable: true,
  default: null,
  form: { hint: 'The address of a picture; over https it is shown here' },
});

export const METRIC_ID = field(Uuid, {
  label: 'Metric',
  description: 'ID of the metric.',
  default: null,
  refersTo: 'metric',
});

export const STREAK_LENGTH = field(Type.Integer({ minimum: 1 }), {
  label: 'Length of the streak',
  description: 'Length of the streak that is needed.',
  default: null,
  required: true,
});

export const USER_CONDITIONS = field(Type.Array(AttributeCondition), {
  label: 'Only users whose',
  description: 'User attributes and the values that they must have.',
  conditionsOn: 'user',
  clearable: true,
  default: [],
});

export const EVENT_CONDITIONS = field(Type.Array(AttributeCondition), {
  label: 'Only events whose',
  description: 'Event attributes and the values that they must have.',
  conditionsOn: 'event',
  clearable: true,
  default: [],
});

type StoredName<N, F> = F extends { stored: infer Name extends string } ? Name : N;
type Value<F extends Field> = F extends { stored: 'badgeUrl' } ? string : Static<F['schema']>;
type Null<F> = F extends { default: null }
  ? null
  : F extends { clearable: true; conditionsOn?: undefined }
    ? null
    : never;

export type Stored<D extends Fields> = { -readonly [N in keyof D as StoredName<N, D[N]>]: Value<D[N]> | Null<D[N]> };

export type Created<D extends Fields> = { [N in Needed<D>]: Static<D[N]['schema']> } & {
  [N in Exclude<keyof D, Needed<D>>]?: Sent<D[N]> | (D[N] extends { clearable: true } ? null : never);
};

export interface ConfiguredCondition {
  key: string;
  value: string;
}

type DocumentName<N, F> = F extends { refersTo: 'achievement' }
  ? N extends `achievementId${infer S}`
    ? `achievement${'Id' | 'Key' | 'Name'}${S}`
    : `${N & string}${'Ids' | 'Keys' | 'Names'}`
  : F extends { refersTo: string }
    ? N extends `${infer Noun}Id`
      ? `${Noun}Key`
      : N
    : N;
type Sent<F extends Field> =
  | Static<F['schema']>
  | (F extends { aliases: Readonly<Record<infer A, Alias>> } ? A : never);
type DocumentValue<F extends Field> = F extends { conditionsOn: string } ? ConfiguredCondition[] : Sent<F>;
type Needed<D extends Fields> = {
  [N in keyof D]: D[N] extends { required: true; when?: undefined } ? N : never;
}[keyof D];

export type Configured<D extends Fields> = {
  -readonly [N in Needed<D> as DocumentName<N, D[N]>]: DocumentValue<D[N]>;
} & {
  -readonly [N in Exclude<keyof D, Needed<D>> as DocumentName<N, D[N]>]?: DocumentValue<D[N]> | Null<D[N]>;
};
