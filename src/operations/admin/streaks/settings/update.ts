import { Type } from 'typebox';
import { StreakSettings } from '../../../../domain/catalog.ts';
import { operation } from '../../../operation.ts';

const Changes = Type.Partial(
  Type.Object({ ...StreakSettings.properties, freezes: Type.Partial(StreakSettings.properties.freezes) }),
);

export const adminStreaksSettingsUpdate = operation({
  id: 'admin_streaks_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/streaks/settings',
  summary: 'Set the streak settings that are sent',
  body: Changes,
  responses: { 200: StreakSettings },
  handle: async ({ configuration }, { tenant, body, caller }) => ({
    status: 200,
    body: await configuration.updateStreaks(tenant.no, body, { who: caller.prefix }),
  }),
});
