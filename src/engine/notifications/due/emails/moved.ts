import { momentToday, type LocalMoment } from '../../../../domain/local-times.ts';
import type { Notification } from '../../../../domain/notification.ts';
import { forgetMoves, movedUsers } from '../../../../postgres/notifications/emails.ts';
import type { Publisher } from '../publisher.ts';
import { claimed, dueIn } from './due-in-zone.ts';
import type { DueEmail } from './email-kind.ts';
import type { FollowedZone } from './followed-zones.ts';

/**
 * Looks at some users of a tenant whose zone changed: for whom it was the time of an e-mail today in the new zone, before
 * they came, it is due now.
 * @param zones the tenant's
 */
export async function lookAtMoved(
  publisher: Publisher,
  zones: readonly FollowedZone[],
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<void> {
  const [first] = zones;
  if (first === undefined) return;
  const { tenantNo } = first.progress;
  const users = await movedUsers(publisher.pool, tenantNo, limit);
  if (users.length === 0) return;
  const found: { zone: FollowedZone; moment: LocalMoment; due: DueEmail[] }[] = [];
  for (const zone of zones) {
    const isAsked = (userId: string): boolean => zone.users?.has(userId) !== false;
    const inZone = users.filter((user) => user.zone === zone.progress.zone);
    const userIds = inZone.map(({ userId }) => userId).filter(isAsked);
    const moment = userIds.length === 0 ? null : momentToday(zone.time, zone.name, nowMs);
    if (moment === null || moment.atMs <= zone.sinceMs) continue;
    found.push({ zone, moment, due: await dueIn(publisher.pool, { zone, moment, userIds }) });
  }
  await publisher.publish(first.settings.compiled, nowMs, async (client) => {
    await forgetMoves(
      client,
      tenantNo,
      users.map(({ userId }) => userId),
    );
    const made: Notification[] = [];
    for (const each of found) made.push(...(await claimed(client, each)));
    return made;
  });
}
