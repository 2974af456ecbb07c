import { DEFAULT_BRANDING, Settings, SettingsChanges } from '../../domain/settings.ts';
import type { OrganisationRow } from '../../postgres/organisation.ts';
import { operation } from '../operation.ts';

/** The organisation's settings as the contract shapes them. */
const settingsAnswer = (row: OrganisationRow): Settings => ({
  branding: { appName: row.name, ...DEFAULT_BRANDING, ...row.branding },
  experimentation: {
    controlRatio: Math.round(row.controlShare * 100),
    userActivationWindow: row.userActivationWindow,
  },
  aggregationPeriod: row.aggregationPeriod,
});

/** What a request in that shape sets. */
function changedSettings(changes: SettingsChanges): Partial<OrganisationRow> {
  const { branding, experimentation, aggregationPeriod } = changes;
  const { controlRatio, userActivationWindow } = experimentation ?? {};
  return {
    ...(branding !== undefined && { branding }),
    ...(controlRatio !== undefined && { controlShare: controlRatio / 100 }),
    ...(userActivationWindow !== undefined && { userActivationWindow }),
    ...(aggregationPeriod !== undefined && { aggregationPeriod }),
  };
}

export const adminSettingsGet = operation({
  id: 'admin_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/settings',
  summary: 'Branding, experiments and the period of recaps',
  description:
    'Settings of the organisation, whichever tenant is named. `/organisation` has those that are ours alone.',
  scope: 'organisation',
  responses: { 200: Settings },
  handle: async ({ tenants }) => ({ status: 200, body: settingsAnswer(tenants.organisation()) }),
});

export const adminSettingsUpdate = operation({
  id: 'admin_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/settings',
  summary: 'Set what is sent of branding, experiments and the period of recaps',
  description: 'Each field by itself; `null` removes a logo or an icon.',
  scope: 'organisation',
  body: SettingsChanges,
  knownFields: SettingsChanges,
  responses: { 200: Settings },
  handle: async ({ tenants }, { by, body }) => ({
    status: 200,
    body: settingsAnswer(await tenants.updateOrganisation(changedSettings(body), by)),
  }),
});
