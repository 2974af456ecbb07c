import type { Pool } from 'pg';
import { awardsAndSums } from '../partitions/dropped-days.ts';
import {
  OF_SAMPLED_USER,
  readSampledChanges,
  sampledChangesQuery,
  type AskedSample,
  type SampledChanges,
} from './sampled-changes.ts';

export const SAMPLED_POINTS_CHANGES = sampledChangesQuery(awardsAndSums(OF_SAMPLED_USER), {
  no: 'system_no',
  change: 'awarded',
});

/** Sums of each sampled user's awards per points system, over some local days. */
export const sampledPointsChanges = (pool: Pool, asked: AskedSample): Promise<SampledChanges> =>
  readSampledChanges(pool, SAMPLED_POINTS_CHANGES, asked);
