import type { PoolClient } from 'pg';
import type { BoardPlace, Notification } from '../../domain/notification.ts';
import { enterWindows, type WindowChange } from '../../postgres/notifications/windows.ts';
import { noteMovedBoards } from '../../postgres/notifications/places.ts';
import { isThrottled, laidOver, mergedPayload, throttledChange, type RankPayload } from './throttled-change.ts';

/** The changes of one window in a call. */
interface Group {
  first: Notification;
  last: Notification;
  change: WindowChange;
}

/**
 * Holds back what must not go out each time: `points.changed` and `leaderboard.rank_changed` go out at once and then at
 * most once in 15 minutes for a user and points system or run and group of a board, `leaderboard.changed` likewise for a run and
 * group of a board; what changes meanwhile is kept, and reported together at the end (`flush.ts`). Other types pass as they are.
 *
 * In the client's transaction, which must hold the outbox cursor of the tenants' shard. A `leaderboard.changed` is wanted for
 * each run and group in which a score moved, while anybody wants it or `leaderboard.rank_changed`, for by it the others'
 * places are compared; its payload is JSON of its `place`, and it is never among the answers: the flush, within a second,
 * reads the rankings.
 *
 * @param nowMs Laurel's clock
 * @returns those that go out now, in their order; several of one window as one, the latest state with what all of them come to
 */
export async function throttle(
  client: PoolClient,
  notifications: readonly Notification[],
  nowMs: number,
): Promise<Notification[]> {
  const groups = groupsOf(notifications);
  if (groups.size === 0) return [...notifications];
  const windows = [...groups.values()];
  await noteMovedBoards(client, movedBoards(notifications), nowMs);
  const going = await enterWindows(
    client,
    windows.map(({ change }) => change),
    nowMs,
  );
  const out = new Map([...going].map((index) => [windows[index]!.last, reported(windows[index]!)]));
  return notifications.flatMap((each) => (isThrottled(each) ? (out.get(each) ?? []) : each));
}

function groupsOf(notifications: readonly Notification[]): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const notification of notifications) {
    if (!isThrottled(notification)) continue;
    const change = throttledChange(notification);
    const key = `${change.tenantNo}:${change.subject}:${change.userId}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: notification, last: notification, change });
    else {
      group.last = notification;
      group.change = laidOver(group.change, change);
    }
  }
  return groups;
}

/** What goes out of a group. */
function reported({ first, last, change }: Group): Notification {
  if (first === last) return last;
  const before = change.type === 'leaderboard.rank_changed' ? (JSON.parse(first.payload) as RankPayload) : null;
  const previous = before && { rank: before.leaderboard.previousRank, value: before.leaderboard.previousValue };
  return { ...last, payload: mergedPayload({ ...change, previous }) };
}

function movedBoards(notifications: readonly Notification[]): (BoardPlace & { tenantNo: number })[] {
  const moved = new Map<string, BoardPlace & { tenantNo: number }>();
  for (const notification of notifications) {
    if (notification.type !== 'leaderboard.changed') continue;
    const { tenantNo } = notification;
    const place = notification.place!;
    moved.set(`${tenantNo}:${place.boardNo}:${place.runDay}:${place.group}`, { tenantNo, ...place });
  }
  return [...moved.values()];
}
