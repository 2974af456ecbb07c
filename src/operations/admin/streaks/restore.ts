import { Type } from 'typebox';
import { RestoredStreaks, StreakUserItem } from '../../../domain/streak-admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { byUserId, toOutcome } from './one-by-one.ts';

const items = bulkItems(StreakUserItem);

export const adminStreaksRestore = operation({
  id: 'admin_streaks_restore',
  surface: 'admin',
  method: 'post',
  path: '/v1/streaks/restore',
  summary: "Restore users' longest recent streak",
  body: Type.Object({ users: items.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: RestoredStreaks, 201: RestoredStreaks },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body.users, async (good) => {
      const ids = good.map(({ id }) => id);
      return (await streakAdmin.restore(compiled, ids, { by, span })).map(toOutcome);
    });
    return {
      status: done.length > 0 ? 201 : 200,
      body: {
        restoredUsers: done.map(({ userId }) => userId),
        issues: issues.map(byUserId),
      },
    };
  },
});
