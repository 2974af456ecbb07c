import type { Pool, PoolClient } from 'pg';
import type { LocalMoment } from '../../../../domain/local-times.ts';
import type { Notification } from '../../../../domain/notification.ts';
import { claimEmails } from '../../../../postgres/notifications/emails.ts';
import type { DueEmail } from './email-kind.ts';
import type { FollowedZone } from './followed-zones.ts';

/** For whom of some users of a zone e-mails are due at a moment. */
export async function dueIn(
  pool: Pool,
  { zone, moment, userIds }: { zone: FollowedZone; moment: LocalMoment; userIds: readonly string[] },
): Promise<DueEmail[]> {
  if (userIds.length === 0) return [];
  return zone.kind.due({ ...zone.settings, pool, userIds, zone: zone.name, moment });
}

/** The notifications of e-mails, in the client's transaction: of those that were not due for the same before. */
export async function claimed(
  client: PoolClient,
  { zone, moment, due }: { zone: FollowedZone; moment: LocalMoment; due: readonly DueEmail[] },
): Promise<Notification[]> {
  const { type } = zone.kind;
  const { tenantNo } = zone.progress;
  const users = await claimEmails(client, { tenantNo, kind: type }, due);
  return due.flatMap(({ userId, dueFor, payload }) =>
    users.has(userId)
      ? [{ type, tenantNo, userId, atMs: moment.atMs, source: `${userId}:${dueFor}`, about: {}, payload }]
      : [],
  );
}
