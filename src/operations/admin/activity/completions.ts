import { Type } from 'typebox';
import { RecentCompletion } from '../../../domain/activity.ts';
import { operation } from '../../operation.ts';

export const adminActivityCompletions = operation({
  id: 'admin_activity_completions',
  surface: 'admin',
  method: 'get',
  path: '/v1/activity/completions',
  summary: 'The newest completions of achievements, newest first, about 20',
  responses: { 200: Type.Array(RecentCompletion) },
  handle: async ({ activity, catalogs }, { tenant }) => ({
    status: 200,
    body: await activity.completions(await catalogs.of(tenant.no)),
  }),
});
