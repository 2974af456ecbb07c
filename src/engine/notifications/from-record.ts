import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Notification } from '../../domain/notification.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { RecordedUser } from './recorded-user.ts';
import { achievementNotifications } from './rules/achievements.ts';
import { boardNotifications } from './rules/boards.ts';
import type { Wants } from './rules/change.ts';
import { pointsNotifications } from './rules/points.ts';
import { streakNotifications } from './rules/streaks.ts';

/**
 * What a record reports, to whoever wants it, in this order: what the clock did to the streak, the streak, achievements,
 * points, ranks. Pure. The user in each payload is as the entry left them; all else is as the record says. What was deleted
 * from the catalog meanwhile is not reported, of what was backdated only what the clock did, and of what was recomputed no
 * achievement. Throws where the user's
 * state, or the record, is of no known form.
 */
export function fromRecord(
  { compiled, wants }: { compiled: CompiledCatalog; wants: Wants },
  record: HappenedRecord,
  user: RecordedUser,
): Notification[] {
  const change = { compiled, wants, record, user };
  const reported = [...streakNotifications(change)];
  if (record[RECORD.backdated] === undefined) {
    if (record[RECORD.recomputation] === undefined) reported.push(...achievementNotifications(change));
    reported.push(...pointsNotifications(change), ...boardNotifications(change));
  }
  return reported.map(({ type, no, about, place, payload }) => ({
    type,
    tenantNo: compiled.catalog.tenantNo,
    userId: user.userId,
    atMs: record[RECORD.atMs],
    source: `${record[RECORD.id]}:${no}`,
    about,
    ...(place && { place }),
    payload,
  }));
}
