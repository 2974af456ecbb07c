import { Type } from 'typebox';
import { StreakSettings } from '../../../../domain/catalog.ts';
import { operation } from '../../../operation.ts';

const Changes = Type.Partial(
  Type.Object({ ...StreakSettings.properties, freezes: Type.Partial(StreakSettings.properties.freezes) }),
);

/** With those of newer contracts, which are taken and say nothing yet. */
const Known = Type.Object({
  ...StreakSettings.properties,
  customizationEnabled: Type.Unknown(),
  metrics: Type.Array(Type.Object({ ...StreakSettings.properties.metrics.items.properties, key: Type.Unknown() })),
  freezes: Type.Object({
    ...StreakSettings.properties.freezes.properties,
    startCount: Type.Unknown(),
    maxCount: Type.Unknown(),
  }),
});

export const adminStreaksSettingsUpdate = operation({
  id: 'admin_streaks_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/streaks/settings',
  summary: 'Set the streak settings that are sent',
  body: Changes,
  knownFields: Known,
  responses: { 200: StreakSettings },
  handle: async ({ configuration }, { tenant, body, by }) => ({
    status: 200,
    body: await configuration.updateStreaks(tenant.no, body, by),
  }),
});
