import { Type } from 'typebox';
import { MOST } from '../../catalog/event-work.ts';
import { JOB_STATUSES } from '../../domain/administration/job.ts';
import { Nullable, Uuid } from '../../domain/schemas.ts';
import { UserId } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { operation } from '../operation.ts';
import { previewOf } from '../resource-edit.ts';
import { adminResource } from '../resource.ts';

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

export const adminAchievementsPreview = operation({
  id: 'admin_achievements_preview',
  surface: 'admin',
  keyScopes: ['read'],
  audited: false,
  method: 'post',
  path: '/v1/achievements/preview',
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
  handle: async ({ resources, achievementPreview }, { tenant, body }) => {
    const { id, trigger } = body as { id?: string; trigger?: string };
    if (id === undefined && trigger === undefined)
      throw new AppError('invalid', 'trigger is required for a new achievement');
    const item = { ...(id === undefined && UNNAMED), ...body };
    const { catalog, previewed } = await previewOf(resources, { tenantNo: tenant.no, resource: achievements, item });
    return { status: 200, body: await achievementPreview.of(catalog, previewed) };
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

export const adminBackdatingsList = operation({
  id: 'admin_backdatings_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/backdatings',
  summary: 'Progress of completing activated or edited achievements for users who already qualify',
  responses: { 200: Type.Array(Backdating) },
  handle: async ({ backdatings }, { tenant }) => ({
    status: 200,
    body: (await backdatings.list(tenant.no)).map(
      ({ subjectId, status, done, total, result, requested, finished }) => ({
        achievementId: subjectId!,
        status,
        usersDone: done,
        usersTotal: total,
        completed: result.completed ?? 0,
        requested: requested.toISOString(),
        finished: finished === null ? null : finished.toISOString(),
      }),
    ),
  }),
});
