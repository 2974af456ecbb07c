import type { Span } from '@opentelemetry/api';
import type { Static, TObject, TSchema } from 'typebox';
import type { Author, KeyScope } from '../domain/administration/author.ts';
import type { LiveGrant } from '../engine/live/grants.ts';
import type { LiveAdmission } from '../engine/live/live.ts';
import type { Services } from './services.ts';
import type { StaticFile } from './static-file.ts';

/** Who calls: what the presented key stands for. */
export interface Caller {
  kind: 'admin' | 'application';
  /** The key's public part: safe to log. */
  prefix: string;
  /** The one user an application key is for. */
  userId: string | null;
  /** The tenant an application key was made under, or the one tenant of an admin key; null: an admin key of all. */
  tenantNo: number | null;
  /** What the key may do; of an admin key `all` or `read`. */
  scope: KeyScope;
  /** Requests a second that an application key may make, 0: any number; null: as many as the organisation allows. */
  rateLimit: number | null;
  /** The console's session that stands for the key; left out where the key itself was sent. */
  session?: CallerSession;
}

/** Whether the key sits with an end user: what it says of that user may be made up. */
export const isClient = ({ kind }: Caller): boolean => kind === 'application';

/** A session as its own operations know it. */
export interface CallerSession {
  /** SHA-256 of its token. */
  hash: Buffer;
  /** What a page sends with every change. */
  csrfToken: string;
  expiresMs: number;
}

/** Who calls a public operation: has no rights. */
export const NOBODY: Caller = Object.freeze({
  kind: 'application',
  prefix: '',
  userId: null,
  tenantNo: null,
  scope: 'all',
  rateLimit: null,
});

/** The tenant a call is about: number 0 is the organisation's own while multi-tenancy is off. */
export interface Tenant {
  no: number;
  id: string;
  customerId: string | null;
}

/** One call of an operation, authorised and validated. */
export interface Call<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  /** The `Idempotency-Key` header, 1 to 255 characters, where the operation takes one. */
  idempotencyKey: string | null;
  tenant: Tenant;
  caller: Caller;
  /** The `Last-Event-ID` header, of an operation that opens a stream; null without one. */
  lastEventId?: string | null;
  /** Counts the opening of a stream under the limit of the key that asked for it, of an operation that opens one. Throws 429. */
  countOpening?: (grant: LiveGrant) => void;
  /** Of the request, where it is sampled. */
  span?: Span;
  /** The caller as the audit log names it; of an operation that is not `audited` nobody. */
  by: Author;
}

/**
 * An answer: a body to be serialized, one that is JSON text already (the hot path), or JSON text in pieces, for one that
 * may be too large to be held at once, or a live stream. What is thrown before the first piece is an error like any other. `session`: one that
 * the browser is to keep from now on; null: the one it has is over.
 */
export type Answer =
  | { status: number; body: unknown; session?: { token: string; expiresMs: number } | null }
  | { status: number; json: string }
  | { status: 200; chunks: AsyncIterableIterator<string> }
  | { status: 200; stream: LiveAdmission }
  | { status: 200; file: StaticFile };

export interface Operation {
  /** The OpenAPI operationId. Begins with the file's path below `operations/`, without `application/`: `admin_users_list` in `admin/users.ts`. */
  id: string;
  surface: 'application' | 'admin';
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below the surface's base, e.g. `/v1/metrics/{key}/event`. */
  path: string;
  /** Further paths of the same operation, e.g. `/api/metrics/{key}/event`. */
  aliases: string[];
  summary: string;
  /** What the schemas do not say, in Markdown; '' for nothing. */
  description: string;
  /** Whether only an earlier version of the contract has it. */
  deprecated: boolean;
  /**
   * 'tenant': about one tenant's data, takes `Tenant-ID`; 'organisation': about the organisation itself; 'key': about the key
   * that is presented, whatever it is for; 'public': answers without a key, so that `call.caller` is nobody.
   */
  scope: 'tenant' | 'organisation' | 'key' | 'public';
  /**
   * The scopes of keys, besides `all`, that hold the operation: `read` unless declared otherwise where the method is GET, none
   * elsewhere. `read` is that it changes nothing, so that read-only admin keys may use it too.
   */
  keyScopes: readonly KeyScope[];
  /** Whether the audit log may record it: then its calls say who makes them, and where from. */
  audited: boolean;
  /** Whether it is answered by a live stream, which a ticket opens: HEAD takes none. */
  opensStream: boolean;
  /** Whether the body holds a secret to sign in with: a wrong one (401) counts as a wrong key, and is bounded like one. */
  signsIn: boolean;
  /** Whether what it asks for may be impossible as things are now: 409. */
  mayConflict: boolean;
  /** The operation exists only where this service does; null: always. */
  onlyWith: 'testClock' | null;
  /** True where the `Idempotency-Key` header is read. */
  idempotent: boolean;
  params: TObject | null;
  query: TObject | null;
  body: TSchema | null;
  /** Whether no body at all counts as `{}`. */
  isBodyOptional: boolean;
  /** Most bytes of the body, checked before it is buffered; null: as many as `BODY_LIMIT` allows, which bounds every body. */
  bodyBytes: number | null;
  /**
   * The fields that the body may have, where others are refused (400) by name; null: others are ignored. Items of a bulk
   * operation are looked at one by one (`bulk.ts`).
   */
  knownFields: TSchema | null;
  /** Answer schemas by status; the error statuses are added for every operation. */
  responses: Record<number, TSchema | null>;
  /**
   * The users a call names (path, query or body). An application key may name its own user only; null:
   * names none.
   */
  namedUsers: ((call: Call<never, never, never>) => readonly string[]) | null;
  /**
   * Of an operation that answers the same to everybody: makes the answer, once and at start. Requests are counted by address.
   * Null: of any other.
   */
  file: ((services: Services) => StaticFile) | null;
  handle: (services: Services, call: Call<never, never, never>) => Promise<Answer>;
}

/** Most bytes of a body unless its operation says otherwise: what one user says of itself or does fits ten times over. */
export const BODY_BYTES = 65_536;

type StaticOf<T> = T extends TSchema ? Static<T> : undefined;

interface Definition<P extends TObject | undefined, Q extends TObject | undefined, B extends TSchema | undefined> {
  id: string;
  surface: Operation['surface'];
  method: Operation['method'];
  path: string;
  aliases?: string[];
  summary: string;
  description?: string;
  deprecated?: boolean;
  scope?: Operation['scope'];
  keyScopes?: Operation['keyScopes'];
  audited?: boolean;
  signsIn?: boolean;
  opensStream?: boolean;
  mayConflict?: boolean;
  onlyWith?: Operation['onlyWith'];
  idempotent?: boolean;
  params?: P;
  query?: Q;
  body?: B;
  isBodyOptional?: boolean;
  bodyBytes?: Operation['bodyBytes'];
  knownFields?: TSchema;
  responses: Record<number, TSchema | null>;
  namedUsers?: (call: Call<StaticOf<P>, StaticOf<Q>, StaticOf<B>>) => readonly string[];
  file?: (services: Services) => StaticFile;
  /** May be left out with `file`. */
  handle?: (services: Services, call: Call<StaticOf<P>, StaticOf<Q>, StaticOf<B>>) => Promise<Answer>;
}

/** Declares an operation: schemas beside a thin handler, whose call is typed from the schemas. */
export function operation<
  P extends TObject | undefined = undefined,
  Q extends TObject | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(definition: Definition<P, Q, B>): Operation {
  return {
    aliases: [],
    description: '',
    deprecated: false,
    scope: 'tenant',
    keyScopes: definition.method === 'get' ? ['read'] : [],
    audited: definition.surface === 'admin',
    signsIn: false,
    opensStream: false,
    mayConflict: false,
    onlyWith: null,
    idempotent: false,
    namedUsers: null,
    isBodyOptional: false,
    bodyBytes: BODY_BYTES,
    knownFields: null,
    file: null,
    handle: async (services: Services) => ({ status: 200, file: definition.file!(services) }),
    ...definition,
    params: definition.params ?? null,
    query: definition.query ?? null,
    body: definition.body ?? null,
  } as unknown as Operation;
}

/** Those of some operations that exist where the services are these. */
export const existing = (operations: readonly Operation[], services: Services): Operation[] =>
  operations.filter(({ onlyWith }) => onlyWith === null || services[onlyWith] !== null);
