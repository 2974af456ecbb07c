import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { Webhook } from '../domain/catalog.ts';
import { dropWebhookSecrets, setWebhookSecrets } from '../postgres/webhook-secrets.ts';
import type { Change } from './draft.ts';

const SECRET_BYTES = 32;

/** A signing secret: 256 random bits in Base64, after a prefix that identifies it. */
const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

/** Creates secrets for new webhooks and rotations, and deletes those of deleted webhooks, in the transaction of the changes. */
export async function keepSecrets(
  client: PoolClient,
  { tenantNo, nowMs, changes }: { tenantNo: number; nowMs: number; changes: Change[] },
): Promise<void> {
  const webhooks = changes.filter(({ kind }) => kind === 'webhook') as {
    before: Webhook | null;
    after: Webhook | null;
  }[];
  const fresh = webhooks.flatMap(({ before, after }) =>
    after === null || before?.secretNo === after.secretNo ? [] : [{ id: after.id, secret: newSecret() }],
  );
  const gone = webhooks.flatMap(({ before, after }) => (after === null && before !== null ? [before.id] : []));
  if (fresh.length > 0) await setWebhookSecrets(client, { tenantNo, nowMs, webhooks: fresh });
  if (gone.length > 0) await dropWebhookSecrets(client, gone);
}
