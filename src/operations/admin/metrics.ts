import { Type } from 'typebox';
import { BatchEventResults, BatchEventsResponse, BatchMetricEvents, RANGE_OF_SUMS } from '../../domain/event.ts';
import { jsonWithList } from '../json-with-list.ts';
import { operation } from '../operation.ts';
import { adminResource } from '../resource.ts';

export const adminMetricsBatchEvents = operation({
  id: 'admin_metrics_batch_events',
  surface: 'admin',
  method: 'post',
  path: '/v1/metrics/events',
  summary: 'Queue up to 1,000 events; with `wait=true`, answer what became of each',
  description: RANGE_OF_SUMS,
  query: Type.Object({ wait: Type.Boolean({ default: false }) }),
  body: BatchMetricEvents,
  bodyBytes: null,
  responses: { 200: BatchEventResults, 202: BatchEventsResponse },
  handle: async ({ batches, recordAudit }, { tenant, by, query, body }) => {
    const entry = { action: 'create', kind: 'event_batch', name: String(body.length) } as const;
    const onQueued = (): void => void recordAudit({ tenantNo: tenant.no, by, entries: [entry] });
    const results = await batches.accept(tenant.no, body, { wait: query.wait, onQueued });
    const accepted = body.length;
    if (results === null) return { status: 202, body: { accepted } };
    return { status: 200, chunks: jsonWithList({ accepted }, 'results', results) };
  },
});

export const metrics = adminResource({
  kind: 'metric',
  noun: 'metric',
  id: 'admin_metrics',
  path: '/v1/metrics',
});
