import { StreakSettings } from '../../../../domain/catalog.ts';
import { operation } from '../../../operation.ts';

export const adminStreaksSettingsGet = operation({
  id: 'admin_streaks_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/streaks/settings',
  summary: 'The streak settings',
  responses: { 200: StreakSettings },
  handle: async ({ configuration }, { tenant }) => ({ status: 200, body: await configuration.streaks(tenant.no) }),
});
