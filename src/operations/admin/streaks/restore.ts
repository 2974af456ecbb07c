import { Type } from 'typebox';
import { RestoredStreaks, StreakRestoreItem } from '../../../domain/streak-admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { toOutcome } from './one-by-one.ts';

const items = bulkItems(StreakRestoreItem);

export const adminStreaksRestore = operation({
  id: 'admin_streaks_restore',
  surface: 'admin',
  method: 'post',
  path: '/v1/streaks/restore',
  summary: "Restore users' longest recent streak",
  body: Type.Object({ users: items.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: RestoredStreaks, 201: RestoredStreaks },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body.users, async (good) => {
      const ids = good.map(({ id }) => id);
      return (await streakAdmin.restore(compiled, ids, by)).map(toOutcome);
    });
    return {
      status: done.length > 0 ? 201 : 200,
      body: {
        restoredUsers: done.map(({ userId }) => userId),
        // The items are users, so what names an item is a user's ID.
        issues: issues.map(({ id, ...issue }) => (id === undefined ? issue : { userId: id, ...issue })),
      },
    };
  },
});
