/** How tenants' e-mails are sent. */
import type { Pool, PoolClient } from 'pg';
import type { StoredProvider } from '../../domain/notifications/http-provider.ts';

/** A tenant's channel. The password is encrypted. */
export interface ChannelRow {
  tenantNo: number;
  enabled: boolean;
  host: string;
  port: number;
  /** `tls` from the first byte, `starttls` before the login, or `none`. */
  security: 'tls' | 'starttls' | 'none';
  username: string | null;
  password: Buffer | null;
  /** `null` for SMTP. */
  http: StoredProvider | null;
  senderAddress: string;
  senderName: string | null;
  replyTo: string | null;
  /** E-mails a second. */
  pace: number;
  /** Grows with each change. */
  version: number;
  created: Date;
  updated: Date;
}

export type NewChannel = Omit<ChannelRow, 'version' | 'created' | 'updated'>;

const COLUMNS = `channel.tenant_no AS "tenantNo", enabled, host, port, security, username, password, http,
  sender_address AS "senderAddress", sender_name AS "senderName", reply_to AS "replyTo", per_second::float8 AS pace,
  version, channel.created, channel.updated`;

/** A tenant's channel; `null` if it has none. `lock`: until the end of the transaction, nobody else changes it. */
export async function readChannel(
  client: Pool | PoolClient,
  tenantNo: number,
  { lock = false }: { lock?: boolean } = {},
): Promise<ChannelRow | null> {
  const { rows } = await client.query<ChannelRow>(
    `SELECT ${COLUMNS} FROM message_channels AS channel WHERE tenant_no = $1 ${lock ? 'FOR UPDATE' : ''}`,
    [tenantNo],
  );
  return rows[0] ?? null;
}

export interface OwnChannels {
  email: boolean;
  push: boolean;
}

/** Whether a tenant has an enabled channel for e-mails, and one for push notifications. */
export async function ownEnabledChannels(pool: Pool, tenantNo: number): Promise<OwnChannels> {
  const { rows } = await pool.query<OwnChannels>(
    `SELECT EXISTS (SELECT FROM message_channels WHERE tenant_no = $1 AND enabled) AS email,
            EXISTS (SELECT FROM push_channels WHERE tenant_no = $1 AND enabled) AS push`,
    [tenantNo],
  );
  return rows[0]!;
}

/** Creates or replaces a tenant's channel, and ends its pause. */
export async function writeChannel(client: PoolClient, channel: NewChannel, nowMs: number): Promise<ChannelRow> {
  const { rows } = await client.query<ChannelRow>(
    `INSERT INTO message_channels AS channel (tenant_no, enabled, host, port, security, username, password, http,
                                              sender_address, sender_name, reply_to, per_second, created, updated)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $13, $8, $9, $10, $11, to_timestamp($12::float8 / 1000),
             to_timestamp($12::float8 / 1000))
     ON CONFLICT (tenant_no) DO UPDATE
       SET enabled = excluded.enabled, host = excluded.host, port = excluded.port, security = excluded.security,
           username = excluded.username, password = excluded.password, http = excluded.http, sender_address = excluded.sender_address,
           sender_name = excluded.sender_name, reply_to = excluded.reply_to, per_second = excluded.per_second,
           updated = excluded.updated, version = channel.version + 1,
           failures = 0, failing_since = NULL, failing_reason = NULL,
           lease_until = CASE WHEN channel.lease_holder IS NOT NULL THEN channel.lease_until END
     RETURNING ${COLUMNS}`,
    [
      channel.tenantNo,
      channel.enabled,
      channel.host,
      channel.port,
      channel.security,
      channel.username,
      channel.password,
      channel.senderAddress,
      channel.senderName,
      channel.replyTo,
      channel.pace,
      nowMs,
      channel.http === null ? null : JSON.stringify(channel.http),
    ],
  );
  return rows[0]!;
}

export async function deleteChannel(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('DELETE FROM message_channels WHERE tenant_no = $1', [tenantNo]);
}

/** The enabled channels of all active tenants. */
export async function enabledChannels(pool: Pool): Promise<ChannelRow[]> {
  const { rows } = await pool.query<ChannelRow>(
    `SELECT ${COLUMNS} FROM message_channels AS channel JOIN tenants ON no = channel.tenant_no
      WHERE enabled AND status = 'active' ORDER BY channel.tenant_no`,
  );
  return rows;
}
