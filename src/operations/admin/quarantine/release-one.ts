import { Type } from 'typebox';
import { ReleasedEvent } from '../../../domain/quarantine.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';
import { distinct, oneOf } from './one-of.ts';

export const adminQuarantineReleaseOne = operation({
  id: 'admin_quarantine_release_one',
  surface: 'admin',
  method: 'post',
  path: '/v1/quarantine/{id}/release',
  summary: 'Apply an event of the quarantine now, and answer what it changed',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ReleasedEvent },
  handle: async ({ quarantine, catalogs }, { tenant, by, params }) => ({
    status: 200,
    body: oneOf(await quarantine.release(await catalogs.of(tenant.no), distinct([params.id]), by)),
  }),
});
