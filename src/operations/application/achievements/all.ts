import { Type } from 'typebox';
import { AchievementWithStatsResponse } from '../../../domain/achievement.ts';
import { AttributeFilter } from '../../../domain/attribute-filter.ts';
import { operation } from '../../operation.ts';

export const achievementsAll = operation({
  id: 'achievements_all',
  surface: 'application',
  method: 'get',
  path: '/v1/achievements',
  summary: 'The achievements, and how many users have them',
  query: Type.Object({ userAttributes: Type.Optional(AttributeFilter) }),
  responses: { 200: Type.Array(AchievementWithStatsResponse) },
  handle: async ({ catalogs, achievements }, { tenant, query }) => ({
    status: 200,
    body: await achievements.list(await catalogs.of(tenant.no), query.userAttributes),
  }),
});
