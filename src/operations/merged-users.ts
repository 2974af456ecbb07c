/** Calls that name users by IDs that stand for others, after merges. */

const BATCH = 'admin_metrics_batch_events';

/**
 * Events find out by themselves, at no cost for those of other users; batches of a wide tenant would find out on another shard. Imports
 * refuse such IDs, merges resolve them, and the audit log has the IDs of that time.
 */
const OWN_RULE: ReadonlySet<string> = new Set([
  'metrics_event',
  BATCH,
  'admin_imports_create',
  'admin_users_merge',
  'admin_audit_log_list',
]);

/** Fields that name users, as a text or a list. `id` names one only in some places. */
const FIELDS: ReadonlySet<string> = new Set(['userId', 'userIds', 'around']);
/** Objects and lists with an `id` that names a user. */
const HOLDERS: ReadonlySet<string> = new Set(['user', 'users']);
/** What tenants name themselves; its keys may be those above. */
const OF_TENANTS = 'attributes';
/** How deep bodies name users. */
const DEEPEST = 3;

interface NamingCall {
  tenant: { no: number; hasMerges?: boolean };
  params: unknown;
  query: unknown;
  body: unknown;
}

interface Aliases {
  aliasOf: (tenantNo: number, userId: string) => Promise<string>;
  isWide: (tenantNo: number) => boolean;
}

/** The handler of an operation, for calls in which every ID that stands for another user is replaced. */
export function forMergedUsers<S extends Aliases, C extends NamingCall, A>(
  { id, path }: { id: string; path: string },
  handle: (services: S, call: C) => Promise<A>,
): (services: S, call: C) => Promise<A> {
  if (OWN_RULE.has(id) && id !== BATCH) return handle;
  // `users_create` names its user in the body, and a deletion names several in the query.
  const holds = {
    params: path.startsWith('/v1/users/{id}'),
    body: id === 'users_create',
    query: id === 'admin_users_delete',
  };
  const ofNamed = async (services: S, call: C): Promise<A> => {
    const named = new Set<string>();
    const visit = (rename: (userId: string) => string): C => ({
      ...call,
      params: renamed(call.params, { isHolder: holds.params, depth: 0, rename }),
      query: renamed(call.query, { isHolder: false, ids: holds.query, depth: 0, rename }),
      body: renamed(call.body, { isHolder: holds.body, depth: 0, rename }),
    });
    visit((userId) => {
      named.add(userId);
      return userId;
    });
    if (named.size === 0) return handle(services, call);
    const ids = [...named];
    const known = await Promise.all(ids.map((userId) => services.aliasOf(call.tenant.no, userId)));
    const aliases = new Map(ids.map((userId, at) => [userId, known[at]!]));
    if (ids.every((userId) => aliases.get(userId) === userId)) return handle(services, call);
    return handle(
      services,
      visit((userId) => aliases.get(userId)!),
    );
  };
  return (services, call) =>
    call.tenant.hasMerges !== true || (id === BATCH && !services.isWide(call.tenant.no))
      ? handle(services, call)
      : ofNamed(services, call);
}

interface Visit {
  /** Whether an `id` here names a user. */
  isHolder: boolean;
  /** Whether `ids` here names users. */
  ids?: boolean;
  depth: number;
  rename: (userId: string) => string;
}

/** A part of a call with other IDs of users. */
function renamed<T>(value: T, { isHolder, ids = false, depth, rename }: Visit): T {
  if (value === null || typeof value !== 'object' || depth > DEEPEST) return value;
  const within = (inner: unknown, holds: boolean): unknown =>
    renamed(inner, { isHolder: holds, depth: depth + 1, rename });
  if (Array.isArray(value)) return value.map((each) => within(each, isHolder)) as T;
  const entries = Object.entries(value).map(([field, inner]): [string, unknown] => {
    if (field === OF_TENANTS) return [field, inner];
    const names = FIELDS.has(field) || (field === 'id' && isHolder) || (field === 'ids' && ids);
    if (names && typeof inner === 'string') return [field, rename(inner)];
    if (names && Array.isArray(inner))
      return [field, [...new Set(inner.map((each: unknown) => (typeof each === 'string' ? rename(each) : each)))]];
    return [field, within(inner, HOLDERS.has(field))];
  });
  return Object.fromEntries(entries) as T;
}
