import type { Pool } from 'pg';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { MESSAGE_KINDS, type MessageKind } from '../../../src/domain/notifications/message-variables.ts';
import { writeChannel } from '../../../src/postgres/notifications/message-channels.ts';
import { countRevision } from '../../../src/postgres/revisions.ts';
import { transaction } from '../../../src/postgres/transaction.ts';

/** A template of each kind, for documents. */
export const TEMPLATES: NonNullable<NonNullable<Configuration['messages']>['templates']> = MESSAGE_KINDS.map(
  (kind) => ({
    kind,
    subject: `About ${kind}`,
    html: '<p>Hello {{user.name|there}}</p><a href="{{unsubscribeUrl}}">Stop</a>',
    text: 'Hello {{user.name|there}}. {{unsubscribeUrl}}',
  }),
);

/** Sets a tenant's channel. Nothing answers at its address. */
export const setChannel = (pool: Pool, { enabled = true, nowMs = 0, tenantNo = 0 } = {}): Promise<void> =>
  transaction(pool, async (client) => {
    const server = {
      host: 'mail.invalid',
      port: 587,
      security: 'starttls',
      username: null,
      password: null,
      http: null,
    } as const;
    const sender = { senderAddress: 'hello@example.org', senderName: null, replyTo: null, pace: 1 };
    await writeChannel(client, { tenantNo, enabled, ...server, ...sender }, nowMs);
    await countRevision(client);
  });

/** An e-mail's row, in the order in which they fell due. */
export interface LoggedMessage {
  /** `YYYY-MM-DDTHH:MM` in UTC. */
  at: string;
  kind: MessageKind;
  user: string;
}

export async function emailRows(pool: Pool): Promise<LoggedMessage[]> {
  const { rows } = await pool.query<LoggedMessage>(
    `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI') AS at, kind, user_id AS user
       FROM email_messages ORDER BY at, kind, user_id`,
  );
  return rows;
}
