import type { Pool } from 'pg';
import { DEFAULT_MESSAGE_SETTINGS, type MessageSettings } from '../../domain/notifications/message-settings.ts';

/** A tenant's settings of messages; `null` if it has no template, or does not exist. */
export async function readMessageSettings(pool: Pool, tenantNo: number): Promise<MessageSettings | null> {
  const { rows } = await pool.query<{ messages: MessageSettings }>({
    name: 'message_settings',
    text: `SELECT message_settings AS messages FROM tenants
            WHERE no = $1 AND (message_kinds <> '{}' OR push_kinds <> '{}')`,
    values: [tenantNo],
  });
  const [row] = rows;
  return row === undefined ? null : { ...DEFAULT_MESSAGE_SETTINGS, ...row.messages };
}
