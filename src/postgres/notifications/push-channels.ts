/** How tenants' push notifications are sent: a channel for each provider. */
import type { Pool, PoolClient } from 'pg';
import type { PushProvider } from '../../domain/notifications/device-tokens.ts';

/** A tenant's channel of a provider. */
export interface PushChannelRow {
  tenantNo: number;
  provider: PushProvider;
  enabled: boolean;
  /** JSON of `PushCredentials`, encrypted. */
  credentials: Buffer;
  /** What may be seen of the credentials. */
  shown: Record<string, string>;
  /** Messages to devices a second. */
  pace: number;
  created: Date;
  updated: Date;
}

export type NewPushChannel = Omit<PushChannelRow, 'created' | 'updated'>;

const COLUMNS = `channel.tenant_no AS "tenantNo", provider, enabled, credentials, shown, per_second::float8 AS pace,
  channel.created, channel.updated`;

/** A tenant's channels, in the order of their providers' names. */
export async function readPushChannels(client: Pool | PoolClient, tenantNo: number): Promise<PushChannelRow[]> {
  const { rows } = await client.query<PushChannelRow>(
    `SELECT ${COLUMNS} FROM push_channels AS channel WHERE tenant_no = $1 ORDER BY provider`,
    [tenantNo],
  );
  return rows;
}

/** A tenant's channel of a provider; `null` if there is none. `lock`: until the end of the transaction, nobody else changes it. */
export async function readPushChannel(
  client: Pool | PoolClient,
  { tenantNo, provider }: Pick<PushChannelRow, 'tenantNo' | 'provider'>,
  { lock = false }: { lock?: boolean } = {},
): Promise<PushChannelRow | null> {
  const { rows } = await client.query<PushChannelRow>(
    `SELECT ${COLUMNS} FROM push_channels AS channel WHERE tenant_no = $1 AND provider = $2 ${lock ? 'FOR UPDATE' : ''}`,
    [tenantNo, provider],
  );
  return rows[0] ?? null;
}

/** Creates or replaces a channel. */
export async function writePushChannel(
  client: PoolClient,
  channel: NewPushChannel,
  nowMs: number,
): Promise<PushChannelRow> {
  const { rows } = await client.query<PushChannelRow>(
    `INSERT INTO push_channels AS channel (tenant_no, provider, enabled, credentials, shown, per_second, created, updated)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000), to_timestamp($7::float8 / 1000))
     ON CONFLICT (tenant_no, provider) DO UPDATE
       SET enabled = excluded.enabled, credentials = excluded.credentials, shown = excluded.shown,
           per_second = excluded.per_second, updated = excluded.updated,
           failures = 0, failing_since = NULL, failing_reason = NULL
     RETURNING ${COLUMNS}`,
    [
      channel.tenantNo,
      channel.provider,
      channel.enabled,
      channel.credentials,
      JSON.stringify(channel.shown),
      channel.pace,
      nowMs,
    ],
  );
  await countChange(client, channel.tenantNo, nowMs);
  return rows[0]!;
}

/** Deletes a channel. Returns whether the tenant has another one, enabled or not. */
export async function deletePushChannel(
  client: PoolClient,
  { tenantNo, provider }: Pick<PushChannelRow, 'tenantNo' | 'provider'>,
  nowMs: number,
): Promise<boolean> {
  await client.query('DELETE FROM push_channels WHERE tenant_no = $1 AND provider = $2', [tenantNo, provider]);
  // Tickets of other providers do not exist.
  if (provider === 'expo') await client.query('DELETE FROM push_receipts WHERE tenant_no = $1', [tenantNo]);
  await countChange(client, tenantNo, nowMs);
  const { rowCount } = await client.query('SELECT FROM push_channels WHERE tenant_no = $1 LIMIT 1', [tenantNo]);
  return rowCount === 1;
}

/** Counts a change of a tenant's channels, and ends their pause. `updated` is when they last became enabled. */
async function countChange(client: PoolClient, tenantNo: number, nowMs: number): Promise<void> {
  await client.query(
    `INSERT INTO push_senders AS sender (tenant_no, enabled, updated)
     SELECT $1, coalesce(bool_or(enabled), false), to_timestamp($2::float8 / 1000) FROM push_channels WHERE tenant_no = $1
     ON CONFLICT (tenant_no) DO UPDATE
       SET enabled = excluded.enabled, version = sender.version + 1,
           updated = CASE WHEN sender.enabled THEN sender.updated ELSE excluded.updated END,
           lease_until = CASE WHEN sender.lease_holder IS NOT NULL THEN sender.lease_until END`,
    [tenantNo, nowMs],
  );
}

/** The public keys of a tenant's enabled channel of Web Push; `null` if there is none. */
export async function webPushKey(pool: Pool, tenantNo: number): Promise<string | null> {
  const { rows } = await pool.query<{ key: string }>({
    name: 'web_push_key',
    text: `SELECT shown ->> 'publicKey' AS key FROM push_channels
            WHERE tenant_no = $1 AND provider = 'web_push' AND enabled`,
    values: [tenantNo],
  });
  return rows[0]?.key ?? null;
}

/** The enabled channels of all active tenants. */
export async function enabledPushChannels(pool: Pool): Promise<PushChannelRow[]> {
  const { rows } = await pool.query<PushChannelRow>(
    `SELECT ${COLUMNS} FROM push_channels AS channel JOIN tenants ON no = channel.tenant_no
      WHERE enabled AND status = 'active' ORDER BY channel.tenant_no, provider`,
  );
  return rows;
}
