import { Type } from 'typebox';
import { MOST } from '../catalog/event-work.ts';
import { AchievementWithStatsResponse, UserAchievementWithStatsResponse } from '../domain/achievement.ts';
import { JOB_STATUSES } from '../domain/administration/job.ts';
import { AchievementCompletionResponse } from '../domain/event.ts';
import { Nullable, Uuid } from '../domain/schemas.ts';
import { AttributeFilter, UpsertedUser, UserId } from '../domain/user.ts';
import { AppError } from '../errors.ts';
import { isClient, operation } from './operation.ts';
import { adminResource, previewOf } from './resource.ts';

export const achievements = adminResource({
  kind: 'achievement',
  noun: 'achievement',
  limits: `At most ${MOST.achievement} of one metric, and ${MOST.achievement} of each other trigger but \`api\`, are active at a time.`,
  id: 'admin_achievements',
  path: '/v1/achievements',
});

/** The preview does not depend on the name. */
const UNNAMED = { name: 'A new achievement' };
const Achievement = Type.Object({ ...achievements.update.properties, id: Type.Optional(Uuid) });

export const adminAchievementsPreview = operation('admin_achievements_preview', 'POST /v1/achievements/preview', {
  keyScopes: ['read'],
  audited: false,
  summary: 'How many users would have an achievement if it were active now, by their history',
  description:
    'The body is that of a new achievement, and nothing is stored. With an `id` it is a change of that achievement, and a user who ' +
    'already has it counts, too. Of more than 10,000 users a random sample is examined, for at most 3 seconds. The points that triggers ' +
    'would deduct are not considered.',
  body: Achievement,
  knownFields: Type.Object({ ...achievements.known.properties }),
  responses: {
    200: Type.Object({
      users: Nullable(Type.Integer()),
      of: Type.Integer(),
      figure: Type.Enum(['exact', 'estimate', 'atLeast']),
      examined: Type.Integer(),
      sample: Type.Array(UserId),
      reason: Nullable(Type.String()),
    }),
  },
  answer: async ({ resources, achievementPreview }, { tenant, body }) => {
    const { id, trigger } = body as { id?: string; trigger?: string };
    if (id === undefined && trigger === undefined)
      throw new AppError('invalid', 'trigger is required for a new achievement');
    const item = { ...(id === undefined && UNNAMED), ...body };
    const { catalog, previewed } = await previewOf(resources, tenant.no, achievements, item);
    return achievementPreview.of(catalog, previewed);
  },
});

const Backdating = Type.Object({
  achievementId: Type.String({ format: 'uuid' }),
  status: Type.Enum([...JOB_STATUSES]),
  /** Users examined so far, of how many (`null` before the start), and how many of them completed something. */
  usersDone: Type.Integer(),
  usersTotal: Type.Union([Type.Integer(), Type.Null()]),
  completed: Type.Integer(),
  requested: Type.String({ format: 'date-time' }),
  finished: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});

export const adminBackdatingsList = operation('admin_backdatings_list', 'GET /v1/backdatings', {
  summary: 'Progress of completing activated or edited achievements for users who already qualify',
  responses: { 200: Type.Array(Backdating) },
  answer: async ({ backdatings }, { tenant }) =>
    (await backdatings.list(tenant.no)).map(({ subjectId, status, done, total, result, requested, finished }) => ({
      achievementId: subjectId!,
      status,
      usersDone: done,
      usersTotal: total,
      completed: result.completed ?? 0,
      requested: requested.toISOString(),
      finished: finished === null ? null : finished.toISOString(),
    })),
});

export const achievementsAll = operation('achievements_all', 'GET /v1/achievements', {
  summary: 'The achievements, and how many users have them',
  query: Type.Object({ userAttributes: Type.Optional(AttributeFilter) }),
  responses: { 200: Type.Array(AchievementWithStatsResponse) },
  handle: async ({ catalogs, achievements }, { tenant, query, caller }) => {
    const as = { seesSecrets: !isClient(caller) };
    return { status: 200, json: await achievements.list(await catalogs.of(tenant.no), query.userAttributes, as) };
  },
});

export const achievementsComplete = operation('achievements_complete', 'POST /v1/achievements/{key}/complete', {
  summary: 'Complete an achievement for a user',
  params: Type.Object({ key: Type.String() }),
  body: Type.Object({ user: UpsertedUser }),
  responses: { 201: AchievementCompletionResponse },
  mayConflict: true,
  namedUsers: ({ body }) => [body.user.id],
  handle: async ({ catalogs, completion }, { caller, tenant, params, body, span }) => ({
    status: 201,
    json: await completion.complete(await catalogs.of(tenant.no), params.key, body.user, {
      byClient: isClient(caller),
      span,
    }),
  }),
});

export const usersAchievements = operation('users_achievements', 'GET /v1/users/{id}/achievements', {
  summary: 'The achievements a user has, and those still to get',
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ includeIncomplete: Type.Optional(Type.Enum(['true'])) }),
  responses: { 200: Type.Array(UserAchievementWithStatsResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, achievements, clock }, { tenant, params, query, caller }) => {
    const includeIncomplete = query.includeIncomplete === 'true';
    const as = { includeIncomplete, nowMs: clock.now(), seesSecrets: !isClient(caller) };
    return { status: 200, json: await achievements.ofUser(await catalogs.of(tenant.no), params.id, as) };
  },
});
