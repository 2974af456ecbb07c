/** Channels whose last attempts failed. */
import type { Pool } from 'pg';
import type { PushProvider } from '../../domain/notifications/device-tokens.ts';
import { storableText } from '../storable-json.ts';

/** A version of a tenant's channel. */
export interface AttemptedChannel {
  tenantNo: number;
  channel: 'email' | PushProvider;
  /** When the channel was last changed. */
  updated: Date;
}

/** What attempts say about a channel. */
export interface Attempts {
  /** Whether one succeeded. */
  succeeded: boolean;
  /** Failed ones since the last success. */
  failures: number;
  /** When the first of `failures` ended; `null` without any. */
  sinceMs: number | null;
  /** Why the last one failed. */
  reason: string | null;
}

/** Adds attempts to what is known of a channel, unless the channel was changed meanwhile. */
export async function recordAttempts(
  pool: Pool,
  { tenantNo, channel, updated }: AttemptedChannel,
  { succeeded, failures, sinceMs, reason }: Attempts,
): Promise<void> {
  const isEmail = channel === 'email';
  await pool.query(
    `UPDATE ${isEmail ? 'message_channels' : 'push_channels'}
        SET failures = least(CASE WHEN $3 THEN 0 ELSE failures END + $4::int, 1000000),
            failing_since = coalesce(CASE WHEN NOT $3 THEN failing_since END, to_timestamp($5::float8 / 1000)),
            failing_reason = $6
      WHERE tenant_no = $1 AND updated = to_timestamp($2::float8 / 1000) AND (failures > 0 OR $4::int > 0)
        ${isEmail ? '' : 'AND provider = $7'}`,
    [
      tenantNo,
      updated.getTime(),
      succeeded,
      failures,
      sinceMs,
      reason === null ? null : storableText(reason),
      ...(isEmail ? [] : [channel]),
    ],
  );
}

/** An enabled channel fails after this many attempts in a row, once the first of them is older than `FAILS_AFTER_MS`. */
const FAILS_AFTER = 5;
/** Mail servers that are restarted work again by then. */
const FAILS_AFTER_MS = 5 * 60_000;

const FAILING = `SELECT tenant_no, 'email' AS channel, failures, failing_since, failing_reason FROM message_channels
                  WHERE enabled AND failures >= ${FAILS_AFTER} AND failing_since <= to_timestamp($1::float8 / 1000)
                 UNION ALL
                 SELECT tenant_no, provider, failures, failing_since, failing_reason FROM push_channels
                  WHERE enabled AND failures >= ${FAILS_AFTER} AND failing_since <= to_timestamp($1::float8 / 1000)`;

export interface FailingChannel {
  channel: AttemptedChannel['channel'];
  failures: number;
  since: Date;
  reason: string;
}

/** A tenant's enabled channels that keep failing. */
export async function failingChannels(pool: Pool, tenantNo: number, nowMs: number): Promise<FailingChannel[]> {
  const { rows } = await pool.query<FailingChannel>(
    `SELECT channel, failures, failing_since AS since, failing_reason AS reason FROM (${FAILING}) AS failing
      WHERE tenant_no = $2 ORDER BY channel`,
    [nowMs - FAILS_AFTER_MS, tenantNo],
  );
  return rows;
}

/** How many channels of active tenants keep failing, by channel. */
export async function countFailingChannels(pool: Pool, nowMs: number): Promise<Map<FailingChannel['channel'], number>> {
  const { rows } = await pool.query<{ channel: FailingChannel['channel']; count: number }>(
    `SELECT channel, count(*)::int AS count FROM (${FAILING}) AS failing
       JOIN tenants ON no = tenant_no AND status = 'active' GROUP BY channel`,
    [nowMs - FAILS_AFTER_MS],
  );
  return new Map(rows.map(({ channel, count }) => [channel, count]));
}
