import { Type } from 'typebox';
import { EventResponse, MetricEvent, RANGE_OF_SUMS } from '../../domain/event.ts';
import { rejectProfile } from '../../engine/users/sent-user.ts';
import { isClient, operation } from '../operation.ts';

export const metricsEvent = operation({
  id: 'metrics_event',
  surface: 'application',
  keyScopes: ['events'],
  method: 'post',
  path: '/v1/metrics/{key}/event',
  aliases: ['/api/metrics/{key}/event'],
  summary: 'Record an event of a user against a metric',
  description: `Adds \`value\` to the user's total of the metric, and answers what that changed. A user who is not known is created.

An unknown metric in the path is 422; in a batch (\`POST /v1/metrics/events\` of the Admin API) it is 404. ${RANGE_OF_SUMS}`,
  idempotent: true,
  params: Type.Object({ key: Type.String() }),
  body: MetricEvent,
  responses: { 201: EventResponse, 202: EventResponse },
  namedUsers: ({ body }) => [body.user.id],
  handle: ({ events }, { caller, tenant, params, body, idempotencyKey, span }) => {
    if (caller.scope === 'events') rejectProfile(body.user);
    const byClient = isClient(caller);
    return events.record(tenant.no, params.key, { event: body, idempotencyKey, byClient, span });
  },
});
