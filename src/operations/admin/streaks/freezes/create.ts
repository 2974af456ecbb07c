import { Type } from 'typebox';
import { CreatedStreakFreezes, StreakFreezeItem } from '../../../../domain/streak-admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../../bulk.ts';
import { operation } from '../../../operation.ts';
import { oneByOne } from '../one-by-one.ts';

const items = bulkItems(StreakFreezeItem);

export const adminStreaksFreezesCreate = operation({
  id: 'admin_streaks_freezes_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/streaks/freezes',
  summary: 'Give users a streak freeze each; beyond the maximum none is given',
  body: Type.Object({ freezes: items.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: CreatedStreakFreezes, 201: CreatedStreakFreezes },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body.freezes, (good) =>
      oneByOne(good, ({ userId }) => streakAdmin.giveFreeze(compiled, userId, { by, span })),
    );
    return { status: done.length > 0 ? 201 : 200, body: { issues } };
  },
});
