import { openapiGet as adminOpenapiGet } from './admin/openapi/get.ts';
import { metricsEvent } from './application/metrics/event.ts';
import { openapiGet } from './application/openapi/get.ts';
import { pointsSummary } from './application/points/summary.ts';
import { pointsSystem } from './application/points/system.ts';
import { usersMetricEventSummary } from './application/users/metric-event-summary.ts';
import { usersPointsEventSummary } from './application/users/points-event-summary.ts';
import { usersSingleMetric } from './application/users/single-metric.ts';
import { usersWrapped } from './application/users/wrapped.ts';
import type { Operation } from './operation.ts';

/** The Application API's table of contents. */
export const applicationOperations: readonly Operation[] = [
  metricsEvent,
  usersSingleMetric,
  usersMetricEventSummary,
  usersPointsEventSummary,
  usersWrapped,
  pointsSystem,
  pointsSummary,
  openapiGet(() => applicationOperations),
];

/** The Admin API's table of contents. */
export const adminOperations: readonly Operation[] = [adminOpenapiGet(() => adminOperations)];
