import { StreakSettingsAnswer, StreakSettingsChanges } from '../../../../domain/streak-settings.ts';
import { operation } from '../../../operation.ts';
import { streakSettingsAnswer } from './streak-settings-answer.ts';

export const adminStreaksSettingsUpdate = operation({
  id: 'admin_streaks_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/streaks/settings',
  summary: 'Set the streak settings that are sent',
  description:
    '`metrics` and `freezes` replace what was there; `freezes: null` switches freezes off. Of two names of one setting ' +
    '(`customizationEnabled` and `personalization`, `key` and `metricId`, `startCount` and `initial`, `maxCount` and `max`) either ' +
    'will do, and both if they agree. By `initial` and `max` alone the fields of `freezes` are set one by one.',
  body: StreakSettingsChanges,
  knownFields: StreakSettingsChanges,
  responses: { 200: StreakSettingsAnswer },
  handle: async ({ configuration }, { tenant, body, by }) => ({
    status: 200,
    body: streakSettingsAnswer(await configuration.updateStreaks(tenant.no, body, by)),
  }),
});
