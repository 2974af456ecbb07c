import { QuarantinedEvents, QuarantineQuery } from '../../../domain/quarantine.ts';
import { operation } from '../../operation.ts';

export const adminQuarantineList = operation({
  id: 'admin_quarantine_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/quarantine',
  summary:
    'Events that guards keep from being applied, newest first; with `status`, those that were released or dropped',
  query: QuarantineQuery,
  responses: { 200: QuarantinedEvents },
  handle: async ({ quarantine, catalogs }, { tenant, query }) => ({
    status: 200,
    body: await quarantine.list(await catalogs.of(tenant.no), query),
  }),
});
