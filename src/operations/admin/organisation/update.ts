import { Type } from 'typebox';
import { Organisation, OrganisationSettings } from '../../../domain/admin.ts';
import { operation } from '../../operation.ts';
import { organisationAnswer } from './organisation-answer.ts';

export const adminOrganisationUpdate = operation({
  id: 'admin_organisation_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/organisation',
  summary: "Set the organisation's settings that are sent",
  scope: 'organisation',
  body: Type.Partial(OrganisationSettings),
  knownFields: Organisation,
  responses: { 200: Organisation },
  handle: async ({ tenants, configuration }, { by, body }) => ({
    status: 200,
    body: {
      ...organisationAnswer(await tenants.updateOrganisation(body, by)),
      demo: await configuration.hasDemo(tenants.default().no),
    },
  }),
});
