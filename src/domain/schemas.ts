import { type Static, Type } from 'typebox';

/** Schemas that many others use. */

export const Uuid = Type.String({ format: 'uuid' });

/** Laurel's own keyword: the maximum size of a string in UTF-8 bytes. */
export const MAX_BYTES = 'x-max-bytes';

/** Text of at most `bytes` UTF-8 bytes. `maxLength` states the same bound in characters for readers of the schema. */
export const TextUpTo = (bytes: number, options: { pattern?: string; examples?: string[] } = {}) =>
  Type.String({ ...options, [MAX_BYTES]: bytes, maxLength: bytes });

export const AttributeValue = TextUpTo(1_024);

export const LocalDate = Type.String({ format: 'date' });

export const Nullable = <T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

export const KEY_PATTERN = '^[a-zA-Z\\d\\-_]+$';

export const TIME_OF_DAY_PATTERN = '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$';
/** A local time of day, `HH:MM` or `HH:MM:SS`. */
export const TimeOfDay = Type.String({ pattern: TIME_OF_DAY_PATTERN });

/** Maximum lengths of a resource's texts, in characters. Answers to events contain them. */
const TEXT = { name: 200, description: 2_000, url: 2_048 };

export const ResourceName = Type.String({ minLength: 1, maxLength: TEXT.name });
export const Description = Type.String({ maxLength: TEXT.description });
export const Units = Type.String({ maxLength: TEXT.name });
export const ResourceUrl = Type.String({ maxLength: TEXT.url });
export const Badge = Type.Object({ url: ResourceUrl });
export type Badge = Static<typeof Badge>;

/** Default and largest `maxParticipants` of a leaderboard. */
export const PARTICIPANTS = { byDefault: 1_000, most: 1_000 } as const;

/** Requests per second; 0 means no limit. */
export const RequestsPerSecond = Type.Integer({ minimum: 0, maximum: 1_000_000 });

/**
 * The client's own ID of a tenant. It travels in a header, so it is printable ASCII without leading or trailing spaces: other
 * text would arrive changed and might name a different tenant.
 */
export const CustomerId = Type.String({ minLength: 1, maxLength: 255, pattern: '^[!-~]([ -~]*[!-~])?$' });

/** Which keys may write a value of a user: only admin keys (`server`), or the user's application keys as well. */
export const WritableBy = Type.Enum(['server', 'user']);
export type WritableBy = Static<typeof WritableBy>;

/** A condition on one attribute, by the attribute's ID. The value has the same size limit as users' values. */
export const AttributeCondition = Type.Object({ attributeId: Uuid, attributeValue: AttributeValue });
export type AttributeCondition = Static<typeof AttributeCondition>;

/** A longer list should be stored as configuration, not as a filter. */
const FilterIds = Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 50 }));

/** Restricts a webhook's notifications to the named resources. A kind that is not set is not restricted. */
export const WebhookFilter = Type.Object({
  metricIds: FilterIds,
  leaderboardIds: FilterIds,
  pointsSystemIds: FilterIds,
});
export type WebhookFilter = Static<typeof WebhookFilter>;

/** An object whose fields are keys of configured resources. */
export const byKey = <T extends Type.TSchema>(schema: T) =>
  Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: schema });

/** Laurel's own keywords: substitute values in answers to clients that cannot read the actual ones. */

/** The contract has an integer here; the number is rounded down. */
export const WHOLE = 'x-whole';

/** Enum values that older contracts lack, each with its nearest equivalent. */
export const OLDER_VALUES = 'x-older-values';

/** Substitute for `null`, which clients of 1.0 reject. If it is `null` itself, the field is omitted. */
export const INSTEAD_OF_NULL = 'x-instead-of-null';

/** A decimal where the contract has an integer: a leaderboard value or threshold. */
export const WholeNumber = () => Type.Number({ [WHOLE]: true });

export const NullableWholeNumber = () => Nullable(WholeNumber());

export const uuidText = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
