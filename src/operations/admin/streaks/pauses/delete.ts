import { Ids } from '../../../../domain/admin.ts';
import { DeletedStreakPauses } from '../../../../domain/streak-admin.ts';
import { deleteEach } from '../../../bulk.ts';
import { operation } from '../../../operation.ts';

export const adminStreaksPausesDelete = operation({
  id: 'admin_streaks_pauses_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/streaks/pauses',
  summary: 'Delete pauses of streaks; their past days stay paused',
  query: Ids,
  responses: { 200: DeletedStreakPauses },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, query }) => {
    const compiled = await catalogs.of(tenant.no);
    const work = (ids: string[]): Promise<string[]> => streakAdmin.deletePauses(compiled, ids, { by, span });
    return { status: 200, body: await deleteEach(query.ids, { noun: 'pause', work }) };
  },
});
