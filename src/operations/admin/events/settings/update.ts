import { Type } from 'typebox';
import { EventSettings } from '../../../../domain/event-settings.ts';
import { operation } from '../../../operation.ts';

export const adminEventsSettingsUpdate = operation({
  id: 'admin_events_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/events/settings',
  summary: 'Set how late events may come, and who may write sign-up dates',
  description: 'Only what is sent changes. It holds for what comes from then on.',
  body: Type.Partial(EventSettings),
  knownFields: EventSettings,
  responses: { 200: EventSettings },
  handle: async ({ configuration }, { tenant, body, by }) => ({
    status: 200,
    body: await configuration.updateEvents(tenant.no, body, by),
  }),
});
