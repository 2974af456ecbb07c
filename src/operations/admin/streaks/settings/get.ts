import { StreakSettingsAnswer } from '../../../../domain/streak-settings.ts';
import { operation } from '../../../operation.ts';
import { streakSettingsAnswer } from './streak-settings-answer.ts';

export const adminStreaksSettingsGet = operation({
  id: 'admin_streaks_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/streaks/settings',
  summary: 'The streak settings',
  responses: { 200: StreakSettingsAnswer },
  handle: async ({ configuration }, { tenant }) => ({
    status: 200,
    body: streakSettingsAnswer(await configuration.streaks(tenant.no)),
  }),
});
