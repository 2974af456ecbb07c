import { type Static, Type } from 'typebox';
import { Nullable, RequestsPerSecond, Uuid } from '../schemas.ts';
import { KEY_SCOPES } from './author.ts';

/**
 * An error or warning about one item of a bulk call. `index` identifies an item without an ID. `level` and `reason` repeat
 * `severity` and `message` for older clients.
 */
export const AdminIssue = Type.Object({
  id: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String()),
  boostId: Type.Optional(Type.String()),
  index: Type.Optional(Type.Integer()),
  severity: Type.Enum(['error', 'warning']),
  message: Type.String(),
  level: Type.Enum(['error', 'warning']),
  reason: Type.String(),
});
export type AdminIssue = Static<typeof AdminIssue>;

export const DeletedResources = Type.Object({
  deleted: Type.Array(Type.Object({ id: { ...Uuid, description: 'ID of what was deleted.' } }), {
    description: 'What was deleted.',
  }),
  issues: Type.Array(AdminIssue),
});
export type DeletedResources = Static<typeof DeletedResources>;

export const DeletedUsers = Type.Object({
  deleted: Type.Array(Type.Object({ id: Type.String() })),
  issues: Type.Array(AdminIssue),
});

export const Paging = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  skip: Type.Integer({ minimum: 0, default: 0 }),
});

export const Ids = Type.Object({ ids: Type.Array(Uuid, { minItems: 1, maxItems: 100 }) });

/** IDs for resources to which the contract sets no limit; the length of the URL is the limit. */
export const AnyIds = Type.Object({ ids: Type.Array(Uuid, { minItems: 1 }) });

export const AdminTenant = Type.Object({
  id: Uuid,
  customerId: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'archived']),
  created: Type.String({ format: 'date-time' }),
  updated: Type.String({ format: 'date-time' }),
});
export type AdminTenant = Static<typeof AdminTenant>;

export const CreatedApplicationKey = Type.Object({
  id: Uuid,
  userId: Type.String(),
  key: Type.String(),
  prefix: Type.String(),
  scope: Type.Optional(Type.Enum([...KEY_SCOPES])),
  expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
  rateLimit: Type.Optional(RequestsPerSecond),
});
export type CreatedApplicationKey = Static<typeof CreatedApplicationKey>;

export const ApplicationKey = Type.Object({
  id: Uuid,
  /** Readable part of the key. */
  prefix: Type.String(),
  userId: Type.String(),
  scope: Type.Enum([...KEY_SCOPES]),
  expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  /** `null` for the organisation's limit. */
  rateLimit: Nullable(RequestsPerSecond),
  created: Type.String({ format: 'date-time' }),
  /** Accurate to about a minute. */
  lastUsed: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export type ApplicationKey = Static<typeof ApplicationKey>;

export const AdminKey = Type.Object({
  id: Uuid,
  prefix: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'inactive']),
  /** A `read` key cannot change anything. */
  access: Type.Enum(['full', 'read']),
  /** The only tenant that the key gives access to, as in the `Tenant-ID` header. */
  tenantId: Type.Union([Type.String(), Type.Null()]),
  created: Type.String({ format: 'date-time' }),
  /** Accurate to about a minute. */
  lastUsed: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export type AdminKey = Static<typeof AdminKey>;

export const CreatedAdminKey = Type.Object({ ...AdminKey.properties, key: Type.String() });
export type CreatedAdminKey = Static<typeof CreatedAdminKey>;

export const OrganisationSettings = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 255 }),
  multiTenancy: Type.Boolean(),
  controlShare: Type.Number({ minimum: 0, maximum: 1 }),
  /** Whether leaderboard values are rounded down to whole numbers. `byClient`: only for clients that require it. */
  boardValues: Type.Enum(['exact', 'whole', 'byClient']),
  /** Limit of application keys without their own; `null` for the installation's `RATE_LIMIT`. */
  rateLimit: Nullable(RequestsPerSecond),
});
export type OrganisationSettings = Static<typeof OrganisationSettings>;

/** `demo`: whether unmodified demo resources are still configured. */
export const Organisation = Type.Object({ ...OrganisationSettings.properties, demo: Type.Boolean() });

export const ManagedUser = Type.Object({
  id: Type.String(),
  hidden: Type.Boolean(),
  /** Hidden by the user's own choice. */
  hiddenByUser: Type.Boolean(),
});
export type ManagedUser = Static<typeof ManagedUser>;
