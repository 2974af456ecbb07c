import type { Pool, PoolClient } from 'pg';

/** Sets the secrets of stored webhooks. */
export async function setWebhookSecrets(
  client: PoolClient,
  tenantNo: number,
  webhooks: { id: string; secret: string }[],
): Promise<void> {
  await client.query(
    `INSERT INTO webhook_secrets (tenant_no, webhook_id, secret)
     SELECT $1, * FROM unnest($2::uuid[], $3::text[])
     ON CONFLICT (webhook_id) DO UPDATE SET secret = excluded.secret`,
    [tenantNo, webhooks.map(({ id }) => id), webhooks.map(({ secret }) => secret)],
  );
}

/** Forgets the secrets of webhooks. */
export async function dropWebhookSecrets(client: PoolClient, ids: string[]): Promise<void> {
  await client.query('DELETE FROM webhook_secrets WHERE webhook_id = ANY($1::uuid[])', [ids]);
}

/** The secrets of those of the webhooks that are a tenant's, by ID: what signs what is sent to them. */
export async function webhookSecrets(pool: Pool, tenantNo: number, ids: string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; secret: string }>(
    'SELECT webhook_id AS id, secret FROM webhook_secrets WHERE tenant_no = $1 AND webhook_id = ANY($2::uuid[])',
    [tenantNo, ids],
  );
  return new Map(rows.map(({ id, secret }) => [id, secret]));
}
