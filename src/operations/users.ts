import { Type } from 'typebox';
import { AdminIssue, DeletedUsers, ManagedUser, Paging } from '../domain/administration/admin.ts';
import { MergeUsersRequest, UserMerge } from '../domain/administration/merge.ts';
import { GuardCount } from '../domain/administration/quarantine.ts';
import { TimelinePage, TimelineQuery } from '../domain/administration/timeline.ts';
import { WrappedResponse } from '../domain/history.ts';
import { ImportedOutcome, ImportedUser, ImportQuery } from '../domain/imported-user.ts';
import { UpdateUserPreferencesRequest, UserPreferencesResponse } from '../domain/notifications/preferences.ts';
import { Nullable } from '../domain/schemas.ts';
import { AttributeFilter, ChangedUser, UpdatedUser, UpsertedUser, User, UserId } from '../domain/user.ts';
import { managedUserResponse } from '../engine/responses/users.ts';
import { AppError } from '../errors.ts';
import { jsonInSlices } from '../pacing/slices.ts';
import { bulkItems, deleteEach, verdict } from './bulk.ts';
import { type Call, isClient, operation } from './operation.ts';
import type { Services } from '../engine/services.ts';

export const adminUsersList = operation('admin_users_list', 'GET /v1/users', {
  summary: 'Users in the order of their IDs, or those whose ID, name, last name or e-mail address begins with a text',
  description:
    'A page that has fewer users than `limit` is the last. `after` takes the ID of the last user of the page before, and ' +
    'costs the same at any depth; what `skip` passes over has to be read.',
  query: Type.Object({
    ...Paging.properties,
    after: Type.Optional(UserId),
    order: Type.Optional(Type.Enum(['asc', 'desc'])),
    search: Type.Optional(Type.String({ maxLength: 255 })),
  }),
  responses: { 200: Type.Array(User) },
  answer: async ({ directory, catalogs }, { tenant, query }) => {
    if (query.after !== undefined && query.skip > 0)
      throw new AppError('unprocessable', 'skip: cannot be combined with after');
    if (query.order === 'desc' && query.search)
      throw new AppError('unprocessable', 'order: cannot be combined with search, which has its own order');
    return directory.list(await catalogs.of(tenant.no), query);
  },
});

const DateTime = Type.String({ format: 'date-time' });

export const adminUsersFiltered = operation('admin_users_filtered', 'GET /v1/filtered-users', {
  summary: 'Users with given attributes, a level, a streak, or a time of their last change, by ID',
  description:
    'A user must meet every filter that is sent. `level` is the key of a points system, a colon and the key of a level. ' +
    '`minStreak` is the shortest present streak. A call examines up to 2,000 users, so it may find fewer than `limit`, or none, ' +
    'although there are more: call again with `after` set to `next` until `next` is null.',
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
    after: Type.Optional(UserId),
    userAttributes: Type.Optional(AttributeFilter),
    level: Type.Optional(Type.String({ maxLength: 511 })),
    minStreak: Type.Optional(Type.Integer({ minimum: 1 })),
    seenFrom: Type.Optional(DateTime),
    seenBefore: Type.Optional(DateTime),
  }),
  responses: {
    200: Type.Object({ users: Type.Array(User), next: Nullable(Type.String()), examined: Type.Integer() }),
  },
  answer: async ({ directory, catalogs }, { tenant, query: { limit, after, ...filter } }) =>
    directory.filtered(await catalogs.of(tenant.no), filter, limit, after),
});

export const adminUsersGet = operation('admin_users_get', 'GET /v1/users/{id}', {
  summary: 'A user’s settings by administrators: whether leaderboards show the user',
  params: Type.Object({ id: UserId }),
  responses: { 200: ManagedUser },
  answer: async ({ users }, { tenant, params: { id } }) => managedUserResponse(id, await users.state(tenant.no, id)),
});

const UpdatedManagedUser = Type.Object({ hidden: Type.Optional(Type.Boolean()) });

export const adminUsersUpdate = operation('admin_users_update', 'PATCH /v1/users/{id}', {
  summary: 'Hide a user from leaderboards, or show a hidden one again',
  description:
    'A hidden user keeps all scores but has no place on any board: not in counts of participants, and not in others’ ranks. ' +
    'Final runs stay unchanged. Users can also hide themselves (`hiddenByUser`); a user is shown if neither applies.',
  params: Type.Object({ id: UserId }),
  body: UpdatedManagedUser,
  knownFields: UpdatedManagedUser,
  responses: { 200: ManagedUser },
  answer: async ({ hiding, users, catalogs, recordAudit }, { tenant, by, params: { id }, body: { hidden } }) => {
    if (hidden === undefined) return managedUserResponse(id, await users.state(tenant.no, id));
    const state = await hiding.set(await catalogs.of(tenant.no), id, { by: 'admin', hidden });
    const entry = { action: 'update', kind: 'user', userId: id, after: { hidden } } as const;
    void recordAudit({ tenantNo: tenant.no, by, entries: [entry] });
    return managedUserResponse(id, state);
  },
});

export const adminUsersDelete = operation('admin_users_delete', 'DELETE /v1/users', {
  summary: 'Delete users with all their data; later events create new users',
  query: Type.Object({ ids: Type.Array(UserId, { minItems: 1, maxItems: 100 }) }),
  responses: { 200: DeletedUsers },
  answer: ({ deletion }, { tenant, by, span, query }) =>
    deleteEach(query.ids, {
      noun: 'user',
      exact: true,
      work: (ids) => deletion.delete(tenant.no, ids, { by, span }),
    }),
});

export const adminUsersDeleteOne = operation('admin_users_delete_one', 'DELETE /v1/users/{id}', {
  summary: 'Delete one user, whose ID may hold a comma, which separates those of the list',
  params: Type.Object({ id: UserId }),
  responses: { 200: DeletedUsers },
  answer: async ({ deletion }, { tenant, by, span, params }) => {
    const body = await deleteEach([params.id], {
      noun: 'user',
      exact: true,
      work: (ids) => deletion.delete(tenant.no, ids, { by, span }),
    });
    if (body.deleted.length === 0) throw new AppError('not_found', 'There is no user with this ID');
    return body;
  },
});

export const adminUsersMerge = operation('admin_users_merge', 'POST /v1/users/merge', {
  summary: 'Merge a user into another, such as a guest into an account',
  description: `The user \`from\` is gone afterwards, and its ID stands for \`into\`: events and requests that name it are about
\`into\`. Totals, points, spendings and scores are added up; of achievements, the earlier completion counts; the streak is
recomputed from the events of both. Attributes and settings of \`into\` win. Used idempotency keys of both stay used. Nothing is
awarded or announced. It happens once, in one step, and cannot be undone; \`dryRun\` shows the result. A repeated request is
answered like the first, as \`unchanged\`.`,
  body: MergeUsersRequest,
  knownFields: MergeUsersRequest,
  mayConflict: true,
  responses: { 200: UserMerge },
  answer: async ({ merges, catalogs }, { tenant, by, body }) => merges.merge(await catalogs.of(tenant.no), body, by),
});

const Rows = Type.Array(Type.Record(Type.String(), Type.Unknown()));
const Named = Type.Record(Type.String(), Type.Unknown());

const UserDocument = Type.Object({
  exported: Type.String({ format: 'date-time' }),
  user: User,
  preferences: Named,
  /** Totals by metric; filtered sums by the achievement or trigger that counts them; points by system. */
  metrics: Named,
  counts: Named,
  points: Named,
  streaks: Named,
  freezes: Type.Integer(),
  leaderboards: Named,
  events: Rows,
  /** Daily sums of events and awards older than EVENT_RETENTION_DAYS. */
  eventDays: Rows,
  awardDays: Rows,
  quarantine: Rows,
  /** Points spent, held, released and refunded. */
  spendings: Rows,
  /** Claimed rewards. */
  claims: Rows,
  guards: Rows,
  /** Events and points that were taken back. */
  reversals: Rows,
  recomputations: Rows,
  awards: Rows,
  completions: Rows,
  streakChanges: Rows,
  streakPauses: Rows,
  /** The occasion of the last e-mail of each kind. */
  emailsDue: Rows,
  emails: Rows,
  suppressedAddresses: Rows,
  applicationKeys: Rows,
  webhookMessages: Rows,
  auditLog: Rows,
  finalRanks: Rows,
  rankRewards: Rows,
  /** The user’s tiers of leagues, cohorts and moves to other tiers. */
  leagueTiers: Rows,
  leagueCohorts: Rows,
  leagueMoves: Rows,
  /** Users who were merged into this one. */
  merges: Rows,
  leaderboardDays: Rows,
  /** Events of accepted batches that are not processed yet. */
  queuedEvents: Rows,
});

export const adminUsersExport = operation('admin_users_export', 'GET /v1/users/{id}/export', {
  summary: 'Everything stored about a user, as one document',
  params: Type.Object({ id: UserId }),
  responses: { 200: UserDocument },
  handle: async ({ userExport, catalogs }, { tenant, by, params }) => ({
    status: 200,
    chunks: userExport.document(await catalogs.of(tenant.no), params.id, by),
  }),
});

export const adminUsersGuards = operation('admin_users_guards', 'GET /v1/users/{id}/guards', {
  summary: 'How often guards of metrics stopped a user’s events; empty if none did',
  params: Type.Object({ id: UserId }),
  responses: { 200: Type.Array(GuardCount) },
  answer: async ({ quarantine, catalogs }, { tenant, params }) =>
    quarantine.countsOf(await catalogs.of(tenant.no), params.id),
});

export const adminUsersTimeline = operation('admin_users_timeline', 'GET /v1/users/{id}/timeline', {
  summary: 'A user’s history in order, each entry with its effects and the rules at that time',
  description:
    'An event and its effects are one entry. A rule is null if it is unknown because it was changed before Laurel kept such changes. ' +
    'Scores follow the leaderboards’ configuration at the time; only the final rank of a run is kept.',
  params: Type.Object({ id: UserId }),
  query: TimelineQuery,
  responses: { 200: TimelinePage },
  answer: async ({ timeline, catalogs }, { tenant, params, query }) =>
    timeline.page(await catalogs.of(tenant.no), params.id, query),
});

/** The maximum size of any body: a user with ten years of days takes about 100 KB for each metric. */
const IMPORT_BODY_BYTES = 4_194_304;

const items = bulkItems(ImportedUser);

export const adminImportsCreate = operation('admin_imports_create', 'POST /v1/imports', {
  summary: 'Import users with their history from another system',
  description: `Up to 100 users, each in one step: profile, totals with their days, achievements, streaks, points with their awards,
preferences. Nothing is announced and nothing awarded. Resources are found by their keys, achievements, triggers and boosts
also by ID or name. Parts that do not exist here, such as the days of an unknown metric, are not imported: \`skipped\` lists them
with their reasons, and the rest of the user is imported. A user with an unknown time zone is not imported: the status is \`skipped\`.
A value that is imported differently is a warning in \`issues\`. A user who exists is an error, unless the import of this name
brought the user before: so a call can be repeated. \`dryRun\` says the same and changes nothing.`,
  query: ImportQuery,
  body: items.body,
  bodyBytes: IMPORT_BODY_BYTES,
  responses: Object.fromEntries(
    [200, 201].map((status) => [
      status,
      Type.Object({ users: Type.Array(ImportedOutcome), issues: Type.Array(AdminIssue) }),
    ]),
  ),
  handle: async ({ catalogs, imports }, { tenant, by, body, query: { import: name, dryRun } }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body, async (users) =>
      (await imports.bring(compiled, users, { name, dryRun, by })).map((result) =>
        'refused' in result ? result.refused : result,
      ),
    );
    const warnings = done.flatMap(({ outcome: { id }, changed }) =>
      changed.map((message) => ({ id, ...verdict('warning', message) })),
    );
    const users = done.map(({ outcome }) => outcome);
    const status = users.some((user) => user.status === 'imported') ? 201 : 200;
    return { status, body: { users, issues: [...issues, ...warnings] } };
  },
});

export const usersGet = operation('users_get', 'GET /v1/users/{id}', {
  keyScopes: ['read', 'profile'],
  summary: 'A user',
  params: Type.Object({ id: UserId }),
  responses: { 200: User },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, profiles }, { tenant, params }) => profiles.get(await catalogs.of(tenant.no), params.id),
});

/** Records the names of fields that an admin key changed, never their values. Runs in the background. */
function recordProfileChange(
  { recordAudit }: Pick<Services, 'recordAudit'>,
  { tenant, caller, by }: Pick<Call<unknown, unknown, unknown>, 'tenant' | 'caller' | 'by'>,
  userId: string,
  sent: object,
): void {
  if (caller.kind !== 'admin') return;
  const fields = Object.keys(sent).filter((name) => name !== 'id');
  void recordAudit({
    tenantNo: tenant.no,
    by,
    entries: [{ action: 'update', kind: 'user', userId, after: { fields } }],
  });
}

async function changeProfile(
  services: Services,
  call: Pick<Call<unknown, unknown, unknown>, 'tenant' | 'caller' | 'by' | 'span'>,
  { how, userId, sent }: { how: 'upsert' | 'update'; userId: string; sent: UpdatedUser },
): Promise<ChangedUser> {
  const compiled = await services.catalogs.of(call.tenant.no);
  const options = { byClient: isClient(call.caller), span: call.span };
  const changed = await services.profiles[how](compiled, userId, sent, options);
  recordProfileChange(services, call, userId, sent);
  return changed;
}

export const usersCreate = operation('users_create', 'POST /v1/users', {
  keyScopes: ['profile'],
  audited: true,
  summary: 'Create or change a user',
  body: UpsertedUser,
  responses: { 201: ChangedUser },
  namedUsers: ({ body }) => [body.id],
  answer: (services, call) => changeProfile(services, call, { how: 'upsert', userId: call.body.id, sent: call.body }),
});

export const usersUpdate = operation('users_update', 'PATCH /v1/users/{id}', {
  keyScopes: ['profile'],
  audited: true,
  summary: 'Change an existing user',
  params: Type.Object({ id: UserId }),
  body: UpdatedUser,
  responses: { 200: ChangedUser },
  namedUsers: ({ params }) => [params.id],
  answer: (services, call) => changeProfile(services, call, { how: 'update', userId: call.params.id, sent: call.body }),
});

export const usersGetPreferences = operation('users_get_preferences', 'GET /v1/users/{id}/preferences', {
  keyScopes: ['read', 'profile'],
  summary: 'A user’s preferences',
  params: Type.Object({ id: Type.String() }),
  responses: { 200: UserPreferencesResponse },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, profiles }, { tenant, params }) =>
    profiles.preferences(await catalogs.of(tenant.no), params.id),
});

export const usersIdentify = operation('users_identify', 'PUT /v1/users/{id}', {
  keyScopes: ['profile'],
  audited: true,
  summary: 'Change a user, or create one',
  params: Type.Object({ id: UserId }),
  body: UpdatedUser,
  responses: { 200: ChangedUser },
  namedUsers: ({ params }) => [params.id],
  answer: (services, call) => changeProfile(services, call, { how: 'upsert', userId: call.params.id, sent: call.body }),
});

export const usersUpdatePreferences = operation('users_update_preferences', 'PATCH /v1/users/{id}/preferences', {
  keyScopes: ['profile'],
  audited: true,
  summary: 'Change a user’s preferences',
  params: Type.Object({ id: Type.String() }),
  body: UpdateUserPreferencesRequest,
  responses: { 200: UserPreferencesResponse },
  namedUsers: ({ params }) => [params.id],
  answer: async (services, call) => {
    const { tenant, params, body, span } = call;
    const changed = await services.profiles.updatePreferences(
      await services.catalogs.of(tenant.no),
      params.id,
      body,
      span,
    );
    recordProfileChange(services, call, params.id, body);
    return changed;
  },
});

/** In a year in review: activity, period, metrics, metric, byAttribute, attribute. */
const DEPTH_OF_ATTRIBUTES = 6;

export const usersWrapped = operation('users_wrapped', 'GET /v1/users/{id}/wrapped', {
  summary: "A user's year in review",
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ year: Type.Optional(Type.Integer({ minimum: 1 })) }),
  responses: { 200: WrappedResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, wrapped }, { tenant, params, query }) => {
    const year = await wrapped.read(await catalogs.of(tenant.no), params.id, query.year);
    return { status: 200, json: await jsonInSlices(year, DEPTH_OF_ATTRIBUTES) };
  },
});
