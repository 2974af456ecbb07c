import { Organisation } from '../../../domain/admin.ts';
import { operation } from '../../operation.ts';
import { organisationAnswer } from './organisation-answer.ts';

export const adminOrganisationGet = operation({
  id: 'admin_organisation_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/organisation',
  summary: "The organisation's settings",
  scope: 'organisation',
  responses: { 200: Organisation },
  handle: async ({ tenants, configuration }) => ({
    status: 200,
    body: { ...organisationAnswer(tenants.organisation()), demo: await configuration.hasDemo(tenants.default().no) },
  }),
});
