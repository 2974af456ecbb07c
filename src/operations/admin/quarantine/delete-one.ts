import { Type } from 'typebox';
import { DeletedResources } from '../../../domain/admin.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';
import { distinct, oneOf } from './one-of.ts';

export const adminQuarantineDeleteOne = operation({
  id: 'admin_quarantine_delete_one',
  surface: 'admin',
  method: 'delete',
  path: '/v1/quarantine/{id}',
  summary: 'Drop an event of the quarantine: it is never applied',
  params: Type.Object({ id: Uuid }),
  responses: { 200: DeletedResources },
  handle: async ({ quarantine, catalogs }, { tenant, by, params }) => {
    const id = oneOf(await quarantine.drop(await catalogs.of(tenant.no), distinct([params.id]), by));
    return { status: 200, body: { deleted: [{ id }], issues: [] } };
  },
});
