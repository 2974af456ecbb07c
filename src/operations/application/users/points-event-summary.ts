import { Type } from 'typebox';
import { EventSummaryEntry, EventSummaryQuery } from '../../../domain/event-summary.ts';
import { operation } from '../../operation.ts';

export const usersPointsEventSummary = operation({
  id: 'users_points_event_summary',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/points/{key}/event-summary',
  summary: "A user's points in a points system by day, week or month",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: EventSummaryQuery,
  responses: { 200: Type.Array(EventSummaryEntry) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, history }, { tenant, params, query }) => ({
    status: 200,
    body: await history.pointsSummary(await catalogs.of(tenant.no), { userId: params.id, key: params.key, query }),
  }),
});
