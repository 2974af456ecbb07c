import { Type } from 'typebox';
import { TimelinePage, TimelineQuery } from '../../../domain/timeline.ts';
import { UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const adminUsersTimeline = operation({
  id: 'admin_users_timeline',
  surface: 'admin',
  method: 'get',
  path: '/v1/users/{id}/timeline',
  summary: 'Everything that happened to a user in order, each with what it caused, and by which rule as it was then',
  description:
    'An event and what it caused are one entry. A rule is null where it was changed before Laurel kept such changes: what it was ' +
    'then is not known. Leaderboards move as they were configured then; the rank of then is not kept, the final one of a run is.',
  params: Type.Object({ id: UserId }),
  query: TimelineQuery,
  responses: { 200: TimelinePage },
  handle: async ({ timeline, catalogs }, { tenant, params, query }) => ({
    status: 200,
    body: await timeline.page(await catalogs.of(tenant.no), params.id, query),
  }),
});
