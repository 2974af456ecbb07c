import { Type } from 'typebox';
import { AdminStreakPause, CreatedStreakPauses, StreakPauseItem } from '../../../../domain/streak-admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../../bulk.ts';
import { operation } from '../../../operation.ts';
import { oneByOne } from '../one-by-one.ts';

const items = bulkItems(StreakPauseItem, AdminStreakPause);

export const adminStreaksPausesCreate = operation({
  id: 'admin_streaks_pauses_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/streaks/pauses',
  summary: "Pause users' streaks from one local day to another, from today on",
  body: Type.Object({ pauses: items.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: CreatedStreakPauses, 201: CreatedStreakPauses },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body.pauses, (good) =>
      oneByOne(good, (item) => streakAdmin.pause(compiled, item, { by, span })),
    );
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});
