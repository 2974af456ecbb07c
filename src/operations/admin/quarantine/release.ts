import { QuarantinedIds, ReleasedEvents } from '../../../domain/quarantine.ts';
import { operation } from '../../operation.ts';
import { distinct, issuesOf } from './one-of.ts';

export const adminQuarantineRelease = operation({
  id: 'admin_quarantine_release',
  surface: 'admin',
  method: 'post',
  path: '/v1/quarantine/release',
  summary: 'Apply up to 1,000 events of the quarantine now, oldest first',
  body: QuarantinedIds,
  knownFields: QuarantinedIds,
  responses: { 200: ReleasedEvents },
  handle: async ({ quarantine, catalogs }, { tenant, by, body }) => {
    const left = await quarantine.release(await catalogs.of(tenant.no), distinct(body.ids), by);
    return { status: 200, body: { released: left.done, issues: issuesOf(left) } };
  },
});
