import { Type } from 'typebox';
import { Organisation, OrganisationSettings } from '../../domain/administration/admin.ts';
import type { OrganisationRow } from '../../postgres/organisation.ts';
import { operation } from '../operation.ts';

/** What of the organisation is not in the contract's settings; the control share, which is in both, exactly. */
const organisationAnswer = ({
  name,
  multiTenancy,
  controlShare,
  boardValues,
  rateLimit,
}: OrganisationRow): OrganisationSettings => ({
  name,
  multiTenancy,
  controlShare,
  boardValues,
  rateLimit,
});

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
