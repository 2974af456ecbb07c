import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type Counted } from '../../domain/analytics.ts';
import { type Days } from '../../domain/periods.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import {
  readSums,
  readSumsByDay,
  readSumsTogether,
  sampleStates,
  type AnalyticsSum,
} from '../../postgres/analytics.ts';
import { tenantCounters } from '../../redis/parts.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { type AnalyticsOptions, type AnalyticsScope, type Tallies } from './analytics-range.ts';
import { inRange, talliesBy } from './figures.ts';

/** Sums of each day of the range and of the period before. */
export function sumsOfDays(
  pool: Pool,
  { tenantNo, days, segment }: AnalyticsScope,
  kinds: Counted[],
  subject?: number,
): Promise<AnalyticsSum[]> {
  const range = { fromDay: days.fromBefore, toDay: days.toDay };
  return readSums(pool, { tenantNo, segment, kinds, ...range, ...(subject !== undefined && { subject }) });
}

/** The same, added up by day. */
export async function talliesByDay(
  pool: Pool,
  asked: AnalyticsScope,
  kinds: Counted[],
  subject?: number,
): Promise<(kind: Counted) => Tallies> {
  const { tenantNo, days, segment } = asked;
  const range = { fromDay: days.fromBefore, toDay: days.toDay, ...(subject !== undefined && { subject }) };
  const sums = await readSumsByDay(pool, { tenantNo, segment, kinds, ...range });
  return (kind) =>
    talliesBy(
      sums.filter((sum) => sum.kind === kind),
      'day',
    );
}

/** Sums of the range, and of the period before. */
export function sumsTogether(
  pool: Pool,
  { tenantNo, days, segment }: AnalyticsScope,
  kinds: Counted[],
): Promise<[AnalyticsSum[], AnalyticsSum[]]> {
  const read = (range: Days): Promise<AnalyticsSum[]> => readSumsTogether(pool, { tenantNo, segment, kinds, ...range });
  return Promise.all([read(inRange(days)), read({ fromDay: days.fromBefore, toDay: days.fromDay - 1 })]);
}

/** Number of a tenant's users. */
export async function userCount(redis: Redis, tenantNo: number): Promise<number> {
  return (await tenantCounters(redis, tenantNo, [COUNTER.users]))[0]!;
}

/** Size of the sample of users for figures that no sum contains. Tenants with fewer users get exact figures. */
const SAMPLE_USERS = 1_000;

/** States of some users, for figures that no sum contains. */
export async function sampledStates(
  { pool, costly }: Pick<AnalyticsOptions, 'pool' | 'costly'>,
  tenantNo: number,
): Promise<User[]> {
  const sample = { tenantNo, users: SAMPLE_USERS };
  return costly.run(tenantNo, 'states', async () => mappedInSlices(await sampleStates(pool, sample), decodeUser));
}
