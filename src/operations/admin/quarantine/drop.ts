import { DeletedResources } from '../../../domain/admin.ts';
import { QuarantinedIds } from '../../../domain/quarantine.ts';
import { operation } from '../../operation.ts';
import { distinct, issuesOf } from './one-of.ts';

export const adminQuarantineDrop = operation({
  id: 'admin_quarantine_drop',
  surface: 'admin',
  method: 'post',
  path: '/v1/quarantine/drop',
  summary: 'Drop up to 1,000 events of the quarantine: they are never applied',
  body: QuarantinedIds,
  knownFields: QuarantinedIds,
  responses: { 200: DeletedResources },
  handle: async ({ quarantine, catalogs }, { tenant, by, body }) => {
    const left = await quarantine.drop(await catalogs.of(tenant.no), distinct(body.ids), by);
    return { status: 200, body: { deleted: left.done.map((id) => ({ id })), issues: issuesOf(left) } };
  },
});
