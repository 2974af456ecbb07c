import type { Span } from '@opentelemetry/api';
import type { Static, TObject, TSchema } from 'typebox';
import type { Author, KeyScope } from '../domain/administration/author.ts';
import type { LiveGrant } from '../engine/live/stream-grants.ts';
import type { LiveAdmission } from '../engine/live/streams.ts';
import { forMergedUsers } from './merged-users.ts';
import type { Services } from '../engine/services.ts';
import type { StaticFile } from './static-file.ts';

export interface Caller {
  kind: 'admin' | 'application';
  /** The key's public part, which may be logged. */
  prefix: string;
  /** The user of an application key. */
  userId: string | null;
  /** The tenant of an application key or a restricted admin key; `null` for an admin key for all tenants. */
  tenantNo: number | null;
  /** Users who were merged into the key's user, and whose IDs stand for that user; absent for none. */
  formerUserIds?: readonly string[] | null;
  /** The key's scope; for admin keys `all` or `read`. */
  scope: KeyScope;
  /** Limit of requests per second for an application key, 0 for unlimited; `null` for the organisation's limit. */
  rateLimit: number | null;
  /** The console session that stands for the key; omitted if the key itself was sent. */
  session?: CallerSession;
}

/** Whether an end user holds the key, so that its data about that user may be forged. */
export const isClient = ({ kind }: Caller): boolean => kind === 'application';

export interface CallerSession {
  /** SHA-256 of its token. */
  hash: Buffer;
  csrfToken: string;
  expiresMs: number;
}

/** The caller of a public operation, without rights. */
export const NOBODY: Caller = Object.freeze({
  kind: 'application',
  prefix: '',
  userId: null,
  tenantNo: null,
  scope: 'all',
  rateLimit: null,
});

/** The tenant of a call. Number 0 is the organisation's own, while multi-tenancy is off. */
export interface Tenant {
  no: number;
  id: string;
  customerId: string | null;
  /** Whether IDs of its users may stand for others, after merges (`withMergedUsers`); absent: no. */
  hasMerges?: boolean;
}

export interface Call<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  /** The `Idempotency-Key` header (1 to 255 characters), if the operation accepts it. */
  idempotencyKey: string | null;
  tenant: Tenant;
  caller: Caller;
  /** For operations that open a stream: the `Last-Event-ID` header; `null` if absent. */
  lastEventId?: string | null;
  /** For operations that open a stream: counts the opening towards the rate limit of the key that requested it. Throws 429. */
  countOpening?: (grant: LiveGrant) => void;
  headers?: Readonly<Record<string, string>>;
  /** The request's span, if it is sampled. */
  span?: Span;
  /** Set once the client has disconnected, so that nobody reads the answer. */
  isGone?: boolean;
  /** Set by an operation that may run at once, if it wrote a large state: its size, for which the caller is charged. */
  stateBytes?: number;
  /** The caller for the audit log; empty unless the operation is `audited`. */
  by: Author;
}

/**
 * An answer: a body to serialize, JSON text (the hot path), JSON text in pieces (for large answers), or a live stream.
 * An error before the first piece is answered like any other. `session`: the session that the browser keeps from now
 * on; `null` deletes the current one.
 */
export type Answer =
  | { status: number; body: unknown; session?: { token: string; expiresMs: number } | null }
  | { status: number; json: string }
  | { status: 200; chunks: AsyncIterableIterator<string> }
  | { status: 200; stream: LiveAdmission }
  | { status: 200; file: StaticFile };

export interface Operation {
  /** The OpenAPI operationId, such as `admin_users_list` in `admin/users.ts`. */
  id: string;
  /** Default: `admin` if the ID begins with `admin_`, else `application`. */
  surface: 'application' | 'admin';
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below the surface's base, e.g. `/v1/metrics/{key}/event`. */
  path: string;
  /** Further paths of the operation, e.g. `/api/metrics/{key}/event`. */
  aliases: string[];
  summary: string;
  /** What the schemas do not express, in Markdown; may be empty. */
  description: string;
  /** Whether only an earlier version of the contract has it. */
  deprecated: boolean;
  /**
   * Whether an unknown query parameter is refused (422). Default: on the admin surface. Operations of the contract on the
   * application surface ignore it, because newer clients may send one.
   */
  refusesUnknownQuery: boolean;
  /**
   * 'tenant': concerns a tenant's data, takes `Tenant-ID`. 'organisation': concerns the organisation itself. 'key':
   * concerns the presented key, whatever its scope. 'public': needs no key; `call.caller` is `NOBODY`.
   */
  scope: 'tenant' | 'organisation' | 'key' | 'public';
  /**
   * The key scopes, besides `all`, that include the operation. Default: `read` for GET, none for other methods. `read`
   * declares that the operation changes nothing, so read-only admin keys may use it.
   */
  keyScopes: readonly KeyScope[];
  /** Whether the audit log may record it. Its calls then carry their author and address. */
  audited: boolean;
  /** Whether it is refused (503) while the tenant's users cannot be read in Redis: during a rebuild or a conversion. */
  needsRedis: boolean;
  /**
   * Which calls run at once, and not in their user's turn: only those that cost a fraction of a millisecond, however large. `null`
   * for none.
   */
  runsAtOnce: ((body: never) => boolean) | null;
  /** Whether a live stream answers it, which consumes a ticket; HEAD does not. */
  opensStream: boolean;
  /** Further request headers that the handler reads, in lower case. */
  headers: readonly string[];
  /** Whether the body contains a secret for signing in. A wrong one (401) counts as a wrong key, and is limited like one. */
  signsIn: boolean;
  /** Whether the current state may make the request impossible: 409. */
  mayConflict: boolean;
  /** The operation exists only if this service does; `null` for always. */
  onlyWith: 'testClock' | null;
  /** Whether the `Idempotency-Key` header is read. */
  idempotent: boolean;
  params: TObject | null;
  query: TObject | null;
  body: TSchema | null;
  /** Whether a missing body counts as `{}`. */
  isBodyOptional: boolean;
  /** Maximum size of the body, checked before it is buffered; `null` for `BODY_LIMIT`, which limits every body. */
  bodyBytes: number | null;
  /** The body's known fields, if others are refused (400); `null` if others are ignored. */
  knownFields: TSchema | null;
  /** Answer schemas by status; the error statuses are added for every operation. */
  responses: Record<number, TSchema | null>;
  /** The users that a call names; an application key may name only its own. `null` if calls name none. */
  namedUsers: ((call: Call<never, never, never>) => readonly string[]) | null;
  /** Throws if a call is refused by its path alone. It runs before the body is read; for operations that anybody may call. */
  admits: ((services: Services, params: never) => void) | null;
  /** Makes an answer that is the same for everybody, once. Counted by address. `null`: no such operation. */
  file: ((services: Services) => Promise<StaticFile>) | null;
  handle: (services: Services, call: Call<never, never, never>) => Promise<Answer>;
}

/** Default maximum size of a body: ten times what one user's data needs. */
export const BODY_BYTES = 65_536;

type StaticOf<T> = T extends TSchema ? Static<T> : undefined;

/** Method and path, such as `GET /v1/metrics/{key}`. */
type Route = `${Uppercase<Operation['method']>} /${string}`;

/** The fields of an operation that follow from others, or whose types follow from its schemas. */
type Derived =
  | 'id'
  | 'method'
  | 'path'
  | 'params'
  | 'query'
  | 'body'
  | 'runsAtOnce'
  | 'namedUsers'
  | 'admits'
  | 'file'
  | 'handle';
type Required = 'summary' | 'responses';

interface Definition<P extends TObject | undefined, Q extends TObject | undefined, B extends TSchema | undefined>
  extends Pick<Operation, Required>, Partial<Omit<Operation, Derived | Required>> {
  params?: P;
  query?: Q;
  body?: B;
  runsAtOnce?: (body: StaticOf<B>) => boolean;
  namedUsers?: (call: Call<StaticOf<P>, StaticOf<Q>, StaticOf<B>>) => readonly string[];
  admits?: (services: Services, params: StaticOf<P>) => void;
  file?: (services: Services) => Promise<StaticFile>;
  /** The body of the only answer that is no error. One of `answer`, `handle` and `file` is given. */
  answer?: (services: Services, call: Call<StaticOf<P>, StaticOf<Q>, StaticOf<B>>) => unknown;
  /** For operations with several such answers, or with an answer that is no body to serialize. */
  handle?: (services: Services, call: Call<StaticOf<P>, StaticOf<Q>, StaticOf<B>>) => Promise<Answer>;
}

/** Declares an operation: schemas next to a thin handler, whose call is typed by the schemas. `id`: the OpenAPI operationId. */
export function operation<
  P extends TObject | undefined = undefined,
  Q extends TObject | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(id: string, route: Route, definition: Definition<P, Q, B>): Operation {
  const [method, path] = route.split(' ') as [Uppercase<Operation['method']>, string];
  const { responses, file, answer, surface = id.startsWith('admin_') ? 'admin' : 'application' } = definition;
  const status = Number(Object.keys(responses).find((each) => each.startsWith('2')));
  const {
    handle = async (services, call): Promise<Answer> =>
      file ? { status: 200, file: await file(services) } : { status, body: await answer!(services, call) },
  } = definition;
  return {
    id,
    surface,
    method: method.toLowerCase(),
    path,
    aliases: [],
    description: '',
    deprecated: false,
    refusesUnknownQuery: surface === 'admin' && file === undefined,
    scope: 'tenant',
    keyScopes: method === 'GET' ? ['read'] : [],
    audited: surface === 'admin',
    needsRedis: (definition.scope ?? 'tenant') !== 'public',
    signsIn: false,
    runsAtOnce: null,
    opensStream: false,
    headers: [],
    mayConflict: false,
    onlyWith: null,
    idempotent: false,
    namedUsers: null,
    admits: null,
    isBodyOptional: false,
    bodyBytes: BODY_BYTES,
    knownFields: null,
    file: null,
    ...definition,
    handle: forMergedUsers({ id, path }, handle as Operation['handle']),
    params: definition.params ?? null,
    query: definition.query ?? null,
    body: definition.body ?? null,
  } as unknown as Operation;
}

export const existing = (operations: readonly Operation[], services: Services): Operation[] =>
  operations.filter(({ onlyWith }) => onlyWith === null || services[onlyWith] !== null);
