import { Type } from 'typebox';
import { Organisation, OrganisationSettings } from '../domain/administration/admin.ts';
import { DEFAULT_BRANDING, Environment, Settings, SettingsChanges } from '../domain/settings.ts';
import { picked } from '../picked.ts';
import type { OrganisationRow } from '../postgres/organisation.ts';
import { operation } from './operation.ts';

/** The organisation's fields beyond the contract's settings, and the exact control share. */
const organisationAnswer = (organisation: OrganisationRow): OrganisationSettings =>
  picked(organisation, ['name', 'multiTenancy', 'controlShare', 'boardValues', 'rateLimit']);

export const adminOrganisationGet = operation('admin_organisation_get', 'GET /v1/organisation', {
  summary: "The organisation's settings",
  scope: 'organisation',
  responses: { 200: Organisation },
  answer: async ({ tenants, configuration }) => ({
    ...organisationAnswer(tenants.organisation()),
    demo: await configuration.hasDemo(tenants.default().no),
  }),
});

export const adminOrganisationUpdate = operation('admin_organisation_update', 'PATCH /v1/organisation', {
  summary: "Set some of the organisation's settings",
  scope: 'organisation',
  body: Type.Partial(OrganisationSettings),
  knownFields: Organisation,
  responses: { 200: Organisation },
  answer: async ({ tenants, configuration }, { by, body }) => ({
    ...organisationAnswer(await tenants.updateOrganisation(body, by)),
    demo: await configuration.hasDemo(tenants.default().no),
  }),
});

export const adminEnvironmentsList = operation('admin_environments_list', 'GET /v1/environments', {
  summary: 'The environment of this deployment',
  description:
    'Always one: every environment is a deployment of its own, named by `ENVIRONMENT_NAME` and `ENVIRONMENT_KEY`.',
  responses: { 200: Type.Array(Environment) },
  answer: ({ environment }) => [environment],
});

const settingsAnswer = (row: OrganisationRow): Settings => ({
  branding: { appName: row.name, ...DEFAULT_BRANDING, ...row.branding },
  experimentation: {
    controlRatio: Math.round(row.controlShare * 100),
    userActivationWindow: row.userActivationWindow,
  },
  aggregationPeriod: row.aggregationPeriod,
});

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

export const adminSettingsGet = operation('admin_settings_get', 'GET /v1/settings', {
  summary: 'Branding, experiments and the period of recaps',
  description: 'Settings of the organisation, for every tenant. `/organisation` has those that only Laurel has.',
  scope: 'organisation',
  responses: { 200: Settings },
  answer: ({ tenants }) => settingsAnswer(tenants.organisation()),
});

export const adminSettingsUpdate = operation('admin_settings_update', 'PATCH /v1/settings', {
  summary: 'Set some fields of branding, experiments and the period of recaps',
  description: 'Each field by itself; `null` removes a logo or an icon.',
  scope: 'organisation',
  body: SettingsChanges,
  knownFields: SettingsChanges,
  responses: { 200: Settings },
  answer: async ({ tenants }, { by, body }) =>
    settingsAnswer(await tenants.updateOrganisation(changedSettings(body), by)),
});
