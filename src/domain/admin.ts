import { Type, type Static } from 'typebox';
import { KEY_SCOPES } from './api-key.ts';
import { Nullable, Uuid } from './schemas.ts';

/** Requests a second; 0: any number. */
export const RequestsPerSecond = Type.Integer({ minimum: 0, maximum: 1_000_000 });

/**
 * What is to be said of one item of a bulk call. `index` names an item without an ID. `level` and `reason` repeat `severity`
 * and `message` under the names that older clients read.
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
  deleted: Type.Array(Type.Object({ id: Uuid })),
  issues: Type.Array(AdminIssue),
});
export type DeletedResources = Static<typeof DeletedResources>;

/** The same of users, whose IDs are any text. */
export const DeletedUsers = Type.Object({
  deleted: Type.Array(Type.Object({ id: Type.String() })),
  issues: Type.Array(AdminIssue),
});

/** The query of a list. */
export const Paging = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  skip: Type.Integer({ minimum: 0, default: 0 }),
});

/** The query of a bulk deletion. */
export const Ids = Type.Object({ ids: Type.Array(Uuid, { minItems: 1, maxItems: 100 }) });

/** The same for the resources of which the contract names no upper bound: as many as the address holds. */
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

/** An application key as it is listed. */
export const ApplicationKey = Type.Object({
  id: Uuid,
  /** The readable part of the key. */
  prefix: Type.String(),
  userId: Type.String(),
  scope: Type.Enum([...KEY_SCOPES]),
  expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  /** Null: the organisation's. */
  rateLimit: Nullable(RequestsPerSecond),
  created: Type.String({ format: 'date-time' }),
  /** To the minute or so. */
  lastUsed: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export type ApplicationKey = Static<typeof ApplicationKey>;

export const AdminKey = Type.Object({
  id: Uuid,
  /** The readable part of the key. */
  prefix: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'inactive']),
  /** A key of access `read` may change nothing. */
  access: Type.Enum(['full', 'read']),
  /** The one tenant that the key is for, as in the `Tenant-ID` header. */
  tenantId: Type.Union([Type.String(), Type.Null()]),
  created: Type.String({ format: 'date-time' }),
  /** To the minute or so. */
  lastUsed: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export type AdminKey = Static<typeof AdminKey>;

/** An admin key as it is shown once. */
export const CreatedAdminKey = Type.Object({ ...AdminKey.properties, key: Type.String() });
export type CreatedAdminKey = Static<typeof CreatedAdminKey>;

export const OrganisationSettings = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 255 }),
  multiTenancy: Type.Boolean(),
  controlShare: Type.Number({ minimum: 0, maximum: 1 }),
  /** Whether values of boards are rounded down to whole numbers: `byClient`: for clients that take nothing else. */
  boardValues: Type.Enum(['exact', 'whole', 'byClient']),
  /** Of a user's application keys without a limit of their own; null: `RATE_LIMIT` of the installation. */
  rateLimit: Nullable(RequestsPerSecond),
});
export type OrganisationSettings = Static<typeof OrganisationSettings>;

/** `demo`: whether resources of the demo are configured that nobody has made their own. */
export const Organisation = Type.Object({ ...OrganisationSettings.properties, demo: Type.Boolean() });
export type Organisation = Static<typeof Organisation>;

/**
 * The client's own ID of a tenant. It travels in a header, so it is printable ASCII without space at its ends:
 * anything else would arrive changed, and might arrive as another tenant's.
 */
export const CustomerId = Type.String({ minLength: 1, maxLength: 255, pattern: '^[!-~]([ -~]*[!-~])?$' });

/** What administrators decide about a user. */
export const ManagedUser = Type.Object({
  id: Type.String(),
  hidden: Type.Boolean(),
  /** Hidden by own wish. */
  hiddenByUser: Type.Boolean(),
});
export type ManagedUser = Static<typeof ManagedUser>;
