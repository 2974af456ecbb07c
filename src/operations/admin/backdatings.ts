import { Type } from 'typebox';
import { JOB_STATUSES } from '../../domain/administration/job.ts';
import { operation } from '../operation.ts';

const Backdating = Type.Object({
  achievementId: Type.String({ format: 'uuid' }),
  status: Type.Enum([...JOB_STATUSES]),
  /** Users looked at so far, of how many (null before the beginning), and for how many something was completed. */
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
  summary: 'How far achievements that were activated or edited are completed for users who qualified already',
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
