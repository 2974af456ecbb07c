import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';

/** How long a webhook's previous secret signs beside the new one. */
const OVERLAP_MS = DAY_MS;

/** Sets webhooks' secrets. The previous one signs for 24 more hours; an older one stops at once. */
export async function setWebhookSecrets(
  client: PoolClient,
  tenantNo: number,
  nowMs: number,
  webhooks: { id: string; secret: string }[],
): Promise<void> {
  await client.query(
    `INSERT INTO webhook_secrets AS had (tenant_no, webhook_id, secret)
     SELECT $1, * FROM unnest($2::uuid[], $3::text[])
     ON CONFLICT (webhook_id) DO UPDATE
        SET secret = excluded.secret, previous = had.secret, previous_until_ms = $4`,
    [tenantNo, webhooks.map(({ id }) => id), webhooks.map(({ secret }) => secret), nowMs + OVERLAP_MS],
  );
}

export async function dropWebhookSecrets(client: PoolClient, ids: string[]): Promise<void> {
  await client.query('DELETE FROM webhook_secrets WHERE webhook_id = ANY($1::uuid[])', [ids]);
}

export interface SigningSecrets {
  /** The secret and, for 24 hours after a rotation, the previous one. */
  secrets: string[];
  /** Until when the previous secret signs (epoch ms, Laurel's clock); `null` if there is none. */
  previousUntilMs: number | null;
}

/** The signing secrets of webhooks at a time (epoch ms, Laurel's clock), by ID. Deleted webhooks have none. */
export async function signingSecrets(
  pool: Pool,
  webhookIds: readonly string[],
  nowMs: number,
): Promise<Map<string, SigningSecrets>> {
  const { rows } = await pool.query<{ id: string; secret: string; previous: string | null; untilMs: number | null }>(
    `SELECT webhook_id AS id, secret, previous, previous_until_ms::float8 AS "untilMs"
       FROM webhook_secrets WHERE webhook_id = ANY ($1::uuid[])`,
    [webhookIds],
  );
  return new Map(
    rows.map(({ id, secret, previous, untilMs }) => {
      const secrets = previous === null ? [secret] : [secret, previous];
      return [id, signingAt({ secrets, previousUntilMs: untilMs }, nowMs)];
    }),
  );
}

export function signingAt<T extends SigningSecrets>(signing: T, nowMs: number): T {
  const { secrets, previousUntilMs } = signing;
  if (previousUntilMs === null || nowMs < previousUntilMs) return signing;
  return { ...signing, secrets: secrets.slice(0, 1), previousUntilMs: null };
}

export async function hasSecret(client: PoolClient, webhookId: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM webhook_secrets WHERE webhook_id = $1', [webhookId]);
  return rows.length > 0;
}

/** A new secret, as its creator sees it, with the end of the previous one. */
export interface ShownSecret {
  secret: string;
  /** Until when the previous secret also signs (epoch ms); `null` if there is none. */
  previousUntilMs: number | null;
}

export async function webhookSecrets(pool: Pool, tenantNo: number, ids: string[]): Promise<Map<string, ShownSecret>> {
  const { rows } = await pool.query<{ id: string } & ShownSecret>(
    `SELECT webhook_id AS id, secret, previous_until_ms::float8 AS "previousUntilMs"
       FROM webhook_secrets WHERE tenant_no = $1 AND webhook_id = ANY($2::uuid[])`,
    [tenantNo, ids],
  );
  return new Map(rows.map(({ id, ...shown }) => [id, shown]));
}

/** When the next previous secret expires (epoch ms); `null` if there is none. */
export async function nextSecretEndMs(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>({
    name: 'next_secret_end',
    text: 'SELECT min(previous_until_ms)::float8 AS ms FROM webhook_secrets WHERE previous_until_ms IS NOT NULL',
  });
  return rows[0]?.ms ?? null;
}

export async function eraseEndedSecrets(pool: Pool, nowMs: number): Promise<void> {
  await pool.query(
    'UPDATE webhook_secrets SET previous = NULL, previous_until_ms = NULL WHERE previous_until_ms <= $1',
    [nowMs],
  );
}
