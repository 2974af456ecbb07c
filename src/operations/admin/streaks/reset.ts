import { Type } from 'typebox';
import { ResetStreaks, StreakUserItem } from '../../../domain/streak-admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { byUserId, oneByOne } from './one-by-one.ts';

const items = bulkItems(StreakUserItem);

export const adminStreaksReset = operation({
  id: 'admin_streaks_reset',
  surface: 'admin',
  method: 'post',
  path: '/v1/streaks/reset',
  summary: "End users' streaks now, as if they were lost; freezes stay",
  body: Type.Object({ users: items.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: ResetStreaks },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body.users, (good) =>
      oneByOne(good, ({ id }) => streakAdmin.reset(compiled, id, { by, span })),
    );
    return {
      status: 200,
      body: { resetUsers: done.map(({ userId }) => userId), issues: issues.map(byUserId) },
    };
  },
});
