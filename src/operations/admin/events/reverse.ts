import { ReversedEvents, ReverseEvents } from '../../../domain/reversal.ts';
import { BULK_BODY_BYTES } from '../../bulk.ts';
import { operation } from '../../operation.ts';

export const adminEventsReverse = operation({
  id: 'admin_events_reverse',
  surface: 'admin',
  method: 'post',
  path: '/v1/events/reverse',
  summary: 'Reverse up to 1,000 events',
  description: `By \`eventIds\`; by \`idempotencyKeys\` of the user \`userId\`; or all events of that user from \`from\` to
before \`to\`. The last two take a \`metricKey\` as well. Each event is reversed by itself, as by the operation for one; an
event that cannot be is an issue, and stops no other. Called again, it reverses what is left. In a dry run, too, each is computed
by itself, as if the others stayed.`,
  body: ReverseEvents,
  knownFields: ReverseEvents,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: ReversedEvents },
  handle: async ({ catalogs, manyReversals }, { tenant, by, body }) => ({
    status: 200,
    body: await manyReversals.reverse(await catalogs.of(tenant.no), body, by),
  }),
});
