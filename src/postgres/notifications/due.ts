/** Notifications that the clock causes: tenants whose webhooks want a type, announced boosts, and the progress of each kind. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { KIND_OF_TYPE } from '../../domain/notifications/message-variables.ts';
import type { NotificationType } from '../../domain/notifications/notification.ts';
import { storableText } from '../storable-json.ts';

type ListQuery<V, R> = (pool: Pool, values: readonly V[]) => Promise<R[]>;

/**
 * Joins the calls that one turn of the event loop makes into one statement. Each call gets the rows of its own values. The
 * statement starts after all of these calls, so none of them sees an older state than it would alone. Each round of the
 * schedule asks once for all kinds of work instead of once for each.
 */
function joined<V, R>(query: ListQuery<V, R>, valueOf: (row: R) => V): ListQuery<V, R> {
  const waiting = new WeakMap<Pool, { values: Set<V>; rows: Promise<R[]> }>();
  return async (pool, values) => {
    let call = waiting.get(pool);
    if (call === undefined) {
      const all = new Set<V>();
      const rows = turn().then(() => {
        waiting.delete(pool);
        return query(pool, [...all]);
      });
      waiting.set(pool, (call = { values: all, rows }));
    }
    for (const value of values) call.values.add(value);
    return (await call.rows).filter((row) => values.includes(valueOf(row)));
  };
}

/** A tenant and a type that one of its enabled webhooks receives, or that its e-mails or push notifications report. */
export interface WantingTenant {
  tenantNo: number;
  /** Version of the tenant's catalog when it was read. */
  version: number;
  type: NotificationType;
  /** Since when, at the latest: the last change of one of these webhooks, or of the messages' channels and templates (epoch ms). */
  sinceMs: number;
  /** Whether an e-mail reports it: the tenant has an enabled channel and a template of the kind. */
  isEmailed: boolean;
  /** Whether a push notification reports it: likewise. */
  isPushed: boolean;
}

/**
 * Tenants with an enabled webhook for some types, or with messages about them, one row per type. Reads an index that contains
 * only webhooks, and the tables of channels.
 */
export const wantingTenants = joined(
  async (pool, types: readonly NotificationType[]) => {
    const { rows } = await pool.query<WantingTenant>({
      name: 'wanting_tenants',
      text: `WITH receiver AS (
           SELECT hook.tenant_no, type, hook.updated, false AS is_email, false AS is_push
             FROM catalog_resources AS hook
            CROSS JOIN LATERAL jsonb_array_elements_text(hook.doc -> 'events') AS type
            WHERE hook.kind = 'webhook' AND hook.deleted IS NULL AND hook.doc ->> 'enabled' = 'true' AND type = ANY ($1)
            UNION ALL
           SELECT tenant_no, email.type, greatest(message_channels.updated, messages_updated), true, false
             FROM message_channels
             JOIN tenants ON no = tenant_no
             JOIN unnest($1::text[], $2::text[]) AS email (type, kind) ON email.kind = ANY (message_kinds)
            WHERE enabled
            UNION ALL
           SELECT tenant_no, push.type, greatest(push_senders.updated, messages_updated), false, true
             FROM push_senders
             JOIN tenants ON no = tenant_no
             JOIN unnest($1::text[], $2::text[]) AS push (type, kind) ON push.kind = ANY (push_kinds)
            WHERE enabled
         )
         SELECT tenant_no AS "tenantNo", catalog_version AS version, type, min(epoch_ms(receiver.updated)) AS "sinceMs",
                bool_or(is_email) AS "isEmailed", bool_or(is_push) AS "isPushed"
           FROM receiver
           JOIN tenants ON tenants.no = tenant_no AND tenants.status = 'active'
           JOIN organisation ON multi_tenancy = (tenant_no > 0)
          GROUP BY 1, 2, 3 ORDER BY 1, 3`,
      values: [types, types.map((type) => KIND_OF_TYPE.get(type) ?? null)],
    });
    return rows;
  },
  ({ type }) => type,
);

interface AnnouncedBoost {
  tenantNo: number;
  userId: string;
  boostNo: number;
  type: string;
}

/** Numbers of those boosts that were already announced with a type. */
export async function announcedBoosts(
  pool: Pool,
  { tenantNo, type }: Pick<AnnouncedBoost, 'tenantNo' | 'type'>,
  boostNos: readonly number[],
): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    'SELECT boost_no AS no FROM notification_boosts WHERE tenant_no = $1 AND type = $2 AND boost_no = ANY ($3)',
    [tenantNo, type, boostNos],
  );
  return rows.map(({ no }) => no);
}

/** Records an announcement in the client's transaction; false if it was already made. */
export async function claimBoost(
  client: PoolClient,
  { tenantNo, userId, boostNo, type }: AnnouncedBoost,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `INSERT INTO notification_boosts (tenant_no, user_id, boost_no, type) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    [tenantNo, storableText(userId), boostNo, type],
  );
  return rowCount === 1;
}

/** Progress of a tenant's notifications of a kind that the clock causes, in a zone (`''`: UTC, or all zones). */
export interface NotificationProgress {
  tenantNo: number;
  kind: string;
  zone: string;
  /** All that were due by then are done (epoch ms). */
  doneMs: number;
  lastUser: string;
}

export const notificationProgress = joined(
  async (pool, kinds: readonly string[]) => {
    const { rows } = await pool.query<NotificationProgress>({
      name: 'notification_progress',
      text: `SELECT tenant_no AS "tenantNo", kind, zone, done_ms AS "doneMs", last_user AS "lastUser"
         FROM notification_progress WHERE kind = ANY ($1) ORDER BY 1, 2, 3`,
      values: [kinds],
    });
    return rows;
  },
  ({ kind }) => kind,
);

type Key = Pick<NotificationProgress, 'tenantNo' | 'kind' | 'zone'>;

const KEY = columns<Key>({ tenantNo: 'int', kind: 'text', zone: 'text' });
const BEGUN = columns<Key & { doneMs: number }>({ tenantNo: 'int', kind: 'text', zone: 'text', doneMs: 'bigint' });

/** Starts creating the notifications that fall due after `doneMs`. Existing progress stays unchanged. */
export async function beginProgress(
  pool: Pool | PoolClient,
  rows: readonly (Key & { doneMs: number })[],
): Promise<void> {
  if (rows.length > 0)
    await pool.query(`${BEGUN.insertInto('notification_progress')} ON CONFLICT DO NOTHING`, BEGUN.arrays(rows));
}

/** Stops them. Notifications that fall due from now on are not created, not even later. */
export async function endProgress(pool: Pool | PoolClient, rows: readonly Key[]): Promise<void> {
  if (rows.length === 0) return;
  await pool.query(
    `DELETE FROM notification_progress AS progress
      USING ${KEY.unnest('ended')}
      WHERE progress.tenant_no = ended.tenant_no AND progress.kind = ended.kind AND progress.zone = ended.zone`,
    KEY.arrays(rows),
  );
}

/** Advances a progress if it has not changed since it was read; false if another process was faster. */
export async function moveNotificationProgress(
  client: PoolClient | Pool,
  { tenantNo, kind, zone, doneMs, lastUser }: NotificationProgress,
  next: Pick<NotificationProgress, 'doneMs' | 'lastUser'>,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE notification_progress SET done_ms = $6, last_user = $7
      WHERE tenant_no = $1 AND kind = $2 AND zone = $3 AND done_ms = $4 AND last_user = $5`,
    [tenantNo, kind, zone, doneMs, lastUser, next.doneMs, next.lastUser],
  );
  return rowCount === 1;
}
