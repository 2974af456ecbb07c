import { Type } from 'typebox';
import { writersIn } from '../catalog/rules/references.ts';
import { MetricResponse } from '../domain/achievement.ts';
import {
  BatchEventResults,
  BatchEventsResponse,
  BatchMetricEvent,
  EventResponse,
  MAX_BATCH,
  MetricEvent,
  RANGE_OF_SUMS,
} from '../domain/event.ts';
import { EventSummaryEntry, EventSummaryQuery } from '../domain/history.ts';
import { Uuid, WritableBy } from '../domain/schemas.ts';
import { rejectProfile } from '../engine/users/sent-user.ts';
import { AppError } from '../errors.ts';
import { Slices } from '../pacing/slices.ts';
import { uncheckedItems } from './bulk.ts';
import { isClient, operation } from './operation.ts';
import { adminResource, unknown } from './resource.ts';
import { faultFinder } from './validation.ts';

const eventFault = faultFinder(BatchMetricEvent);

/** Why an item is not an event; `null` if it is. */
function faultOf(item: unknown, index: number): AppError | null {
  const fault = eventFault(item);
  if (fault === null) return null;
  const { field, text, unusable } = fault;
  return new AppError(unusable ? 'unprocessable' : 'invalid', `[${index}]${field && `.${field}`} ${text}`);
}

export const adminMetricsBatchEvents = operation('admin_metrics_batch_events', 'POST /v1/metrics/events', {
  summary: 'Queue up to 1,000 events',
  description: `Answers 202 when the events are durably queued, and with \`wait=true\` 200 with the result of each when they are processed.

One invalid event refuses the whole batch, and the error names its index. An unknown metric is then 404, while
\`POST /v1/metrics/{key}/event\` answers 422. With \`partial=true\` the valid events are accepted, and \`refused\` lists the others; with
\`wait=true\` too, their errors are among the results. ${RANGE_OF_SUMS}`,
  query: Type.Object({ wait: Type.Boolean({ default: false }), partial: Type.Boolean({ default: false }) }),
  body: uncheckedItems(BatchMetricEvent, MAX_BATCH),
  bodyBytes: null,
  responses: { 200: BatchEventResults, 202: BatchEventsResponse },
  handle: async ({ batches, recordAudit }, { tenant, by, query: { wait, partial }, body }) => {
    const refused = new Map<number, AppError>();
    const slices = new Slices();
    for (const [index, item] of body.entries()) {
      if (slices.over) await slices.turn();
      const fault = faultOf(item, index);
      if (fault !== null && !partial) throw fault;
      if (fault !== null) refused.set(index, fault);
    }
    const entry = { action: 'create', kind: 'event_batch', name: String(body.length) } as const;
    const onQueued = (): void => void recordAudit({ tenantNo: tenant.no, by, entries: [entry] });
    const events = body as BatchMetricEvent[];
    const results = await batches.accept(tenant.no, events, { wait, onQueued, ...(partial && { refused }) });
    const accepted = body.length - refused.size;
    if (results !== null) return { status: 200, chunks: jsonWithList({ accepted }, 'results', results) };
    if (!partial) return { status: 202, body: { accepted } };
    const faults = [...refused].toSorted(([a], [b]) => a - b);
    const listed = faults.map(([index, { message: error, code, hint }]) => ({
      index,
      error,
      code,
      ...(hint && { hint }),
    }));
    return { status: 202, body: { accepted, refused: listed } };
  },
});

export const metrics = adminResource({
  kind: 'metric',
  noun: 'metric',
  id: 'admin_metrics',
  path: '/v1/metrics',
});

/** Items serialized at once. */
const AT_ONCE = 20;

/** JSON of an object with a list as its last field, in pieces. `fields`: at least one. */
async function* jsonWithList(fields: object, name: string, items: readonly unknown[]): AsyncIterableIterator<string> {
  const slices = new Slices();
  yield `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(name)}:[`;
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const some = items.slice(from, from + AT_ONCE).map((item) => JSON.stringify(item));
    // A piece that the connection accepts at once does not yield to other work.
    if (slices.over) await slices.turn();
    yield (from === 0 ? '' : ',') + some.join();
  }
  yield ']}';
}

export const attributes = adminResource({
  kind: 'attribute',
  noun: 'attribute',
  id: 'admin_attributes',
  path: '/v1/attributes',
  computed: {
    schemas: { effectiveWritableBy: Type.Optional(WritableBy) },
    of: (attribute, { catalog }) =>
      attribute.type === 'user' ? { effectiveWritableBy: writersIn(catalog)(attribute) } : {},
  },
});

export const adminAttributesValues = operation('admin_attributes_values', 'GET /v1/attributes/{id}/values', {
  summary: 'Frequent values of an attribute, to choose from',
  description:
    'Counted in a sample of 2,000 users, or in the latest 2,000 events of all tenants. Rare values may be missing. ' +
    'The list is empty if counting takes more than half a second.',
  params: Type.Object({ id: Uuid }),
  query: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }) }),
  responses: { 200: Type.Array(Type.Object({ value: Type.String(), count: Type.Integer() })) },
  answer: async ({ resources, attributeValues }, { tenant, params, query: { limit } }) => {
    const id = params.id.toLowerCase();
    const attribute = (await resources.read(tenant.no)).attributes.find((one) => one.id === id);
    if (attribute === undefined) throw new AppError('not_found', unknown(attributes));
    return attributeValues(tenant.no, attribute, limit);
  },
});

export const metricsEvent = operation('metrics_event', 'POST /v1/metrics/{key}/event', {
  keyScopes: ['events'],
  aliases: ['/api/metrics/{key}/event'],
  summary: 'Record an event of a user against a metric',
  description: `Adds \`value\` to the user's total of the metric, and answers what that changed. A user who is not known is created.

An unknown metric in the path is 422; in a batch (\`POST /v1/metrics/events\` of the Admin API) it is 404. ${RANGE_OF_SUMS}`,
  idempotent: true,
  params: Type.Object({ key: Type.String() }),
  body: MetricEvent,
  responses: { 201: EventResponse, 202: EventResponse },
  namedUsers: ({ body }) => [body.user.id],
  // A late event reads the user's history.
  runsAtOnce: ({ occurredAt }) => occurredAt === undefined,
  handle: ({ events }, call) => {
    const { caller, tenant, params, body, idempotencyKey } = call;
    if (caller.scope === 'events') rejectProfile(body.user);
    const byClient = isClient(caller);
    return events.record(tenant.no, params.key, { event: body, idempotencyKey, byClient, from: call });
  },
});

export const usersAllMetrics = operation('users_all_metrics', 'GET /v1/users/{id}/metrics', {
  summary: "A user's totals of all metrics, and their achievements",
  params: Type.Object({ id: Type.String() }),
  responses: { 200: Type.Array(MetricResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, users, clock }, { tenant, params, caller }) => {
    const as = { nowMs: clock.now(), seesSecrets: !isClient(caller) };
    return { status: 200, json: await users.metrics(await catalogs.of(tenant.no), params.id, as) };
  },
});

export const usersMetricEventSummary = operation(
  'users_metric_event_summary',
  'GET /v1/users/{id}/metrics/{key}/event-summary',
  {
    summary: "A user's total of a metric by day, week or month",
    params: Type.Object({ id: Type.String(), key: Type.String() }),
    query: EventSummaryQuery,
    responses: { 200: Type.Array(EventSummaryEntry) },
    namedUsers: ({ params }) => [params.id],
    handle: async ({ catalogs, history }, { tenant, params: { id: userId, key }, query }) => {
      return { status: 200, json: await history.metricSummary(await catalogs.of(tenant.no), { userId, key, query }) };
    },
  },
);

export const usersSingleMetric = operation('users_single_metric', 'GET /v1/users/{id}/metrics/{key}', {
  summary: "A user's total of a metric, and its achievements",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  responses: { 200: MetricResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, users, clock }, { tenant, params, caller }) => {
    const as = { metricKey: params.key, nowMs: clock.now(), seesSecrets: !isClient(caller) };
    return { status: 200, json: await users.metric(await catalogs.of(tenant.no), params.id, as) };
  },
});
