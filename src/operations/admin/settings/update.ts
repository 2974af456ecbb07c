import { Settings, SettingsChanges } from '../../../domain/settings.ts';
import { operation } from '../../operation.ts';
import { changedSettings, settingsAnswer } from './settings-answer.ts';

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
