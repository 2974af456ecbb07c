import { EventSettings } from '../../../../domain/event-settings.ts';
import { operation } from '../../../operation.ts';

export const adminEventsSettingsGet = operation({
  id: 'admin_events_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/events/settings',
  summary: 'How late events may come, and who may write sign-up dates',
  responses: { 200: EventSettings },
  handle: async ({ configuration }, { tenant }) => ({ status: 200, body: await configuration.events(tenant.no) }),
});
