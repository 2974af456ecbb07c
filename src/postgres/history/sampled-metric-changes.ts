import type { Pool } from 'pg';
import { eventsAndSums } from '../partitions/dropped-days.ts';
import {
  OF_SAMPLED_USER,
  readSampledChanges,
  sampledChangesQuery,
  type AskedSample,
  type SampledChanges,
} from './sampled-changes.ts';

export const SAMPLED_METRIC_CHANGES = sampledChangesQuery(eventsAndSums(OF_SAMPLED_USER), {
  no: 'metric_no',
  change: 'value',
});

/** Sums of each sampled user's events per metric, over some local days. */
export const sampledMetricChanges = (pool: Pool, asked: AskedSample): Promise<SampledChanges> =>
  readSampledChanges(pool, SAMPLED_METRIC_CHANGES, asked);
