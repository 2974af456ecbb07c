/** Leases of channels: one process at a time sends a tenant's messages of a medium, so that the pace holds for all together. */
import type { Pool } from 'pg';
import type { Medium } from '../../domain/notifications/medium.ts';

/** The table with the leases of each medium, one row per tenant: also whether it is enabled, and its version. */
const TABLES: Readonly<Record<Medium, string>> = { email: 'message_channels', push: 'push_senders' };

/** A tenant's channel that a process may use. */
export interface LeasedChannel {
  tenantNo: number;
  /** Grows with each change of the channel. */
  version: number;
}

export interface ChannelLease {
  holder: string;
  /** How long the lease is valid, by Postgres's clock. */
  leaseMs: number;
  /** Laurel's clock. */
  nowMs: number;
  /** Maximum number of channels, including those that the holder already has. */
  most: number;
  /** Tenants for which the holder is sending. Their leases are renewed. */
  held: readonly number[];
}

/**
 * Leases enabled channels with due messages, and renews the holder's leases. While a process has the lease of a channel, no other
 * sends through it. Returns the channels of which the holder has the lease now; a held one that was disabled or deleted is missing.
 */
export async function leaseChannels(
  pool: Pool,
  medium: Medium,
  { holder, leaseMs, nowMs, most, held }: ChannelLease,
): Promise<LeasedChannel[]> {
  const { rows } = await pool.query<LeasedChannel>(
    `WITH chosen AS (
       SELECT tenant_no FROM ${TABLES[medium]} AS channel
        WHERE enabled AND (lease_holder = $1 OR lease_until IS NULL OR lease_until < clock_timestamp())
          AND EXISTS (SELECT FROM tenants WHERE no = tenant_no AND status = 'active')
          AND (tenant_no = ANY ($5::int[]) OR EXISTS (
                SELECT FROM email_messages AS message
                 WHERE message.tenant_no = channel.tenant_no AND medium = '${medium}' AND status = 'waiting' AND due_ms <= $3))
        ORDER BY (tenant_no = ANY ($5::int[])) DESC, lease_until NULLS FIRST, tenant_no
        LIMIT $4 FOR UPDATE SKIP LOCKED)
     UPDATE ${TABLES[medium]} AS channel
        SET lease_holder = $1, lease_until = clock_timestamp() + $2 * interval '1 millisecond'
       FROM chosen WHERE channel.tenant_no = chosen.tenant_no
     RETURNING channel.tenant_no AS "tenantNo", version`,
    [holder, leaseMs, nowMs, most, held],
  );
  return rows;
}

/** Whether a tenant has an enabled channel of a medium. The table has a row for each tenant that ever had one. */
export async function hasChannels(pool: Pool, medium: Medium): Promise<boolean> {
  const { rows } = await pool.query<{ exists: boolean }>(
    `SELECT EXISTS (SELECT FROM ${TABLES[medium]} WHERE enabled) AS exists`,
  );
  return rows[0]!.exists;
}

/** Gives a lease back. For `restMs`, no process sends through the channel, unless it was changed since `version`. */
export async function releaseChannel(
  pool: Pool,
  medium: Medium,
  { holder, tenantNo, version, restMs }: LeasedChannel & { holder: string; restMs: number },
): Promise<void> {
  await pool.query(
    // Never null again, because the channels that waited longest are leased first.
    `UPDATE ${TABLES[medium]}
        SET lease_holder = NULL,
            lease_until = clock_timestamp() + (CASE WHEN version = $4 THEN $3::float8 ELSE 0 END) * interval '1 millisecond'
      WHERE tenant_no = $2 AND lease_holder = $1`,
    [holder, tenantNo, restMs, version],
  );
}
