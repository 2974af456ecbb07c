import { Settings } from '../../../domain/settings.ts';
import { operation } from '../../operation.ts';
import { settingsAnswer } from './settings-answer.ts';

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
