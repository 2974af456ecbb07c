import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { BoardPlace, Notification } from '../../domain/notifications/notification.ts';
import { uuidText } from '../../domain/schemas.ts';
import { noteMovedBoards } from '../../postgres/notifications/places.ts';
import { enterWindows, type WindowChange } from '../../postgres/notifications/windows.ts';

/** The changes of one window in a call. */
interface Group {
  first: Notification;
  last: Notification;
  change: WindowChange;
}

/**
 * Limits the rate of frequent notifications. `points.changed` (for each user and points system),
 * `leaderboard.rank_changed` (for each user, run and group of a board) and `leaderboard.changed` (for each run and
 * group of a board) are sent at once and then at most once in 15 minutes. Changes in the meantime are stored, and
 * reported together at the end (`due/windows.ts`). Other types pass unchanged.
 *
 * Runs in the client's transaction, which must hold the outbox cursor of the tenants' shard. A `leaderboard.changed` is
 * expected for each run and group in which a score moved if a receiver wants it or `leaderboard.rank_changed`, since it
 * triggers the comparison of the other places. Its payload is JSON of its `place`, and it is never returned: the flush,
 * within a second, reads the rankings.
 *
 * @param nowMs Laurel's clock
 * @returns the notifications to be sent now, in order; several of one window are merged into the latest state with
 * their total changes
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

/** The types that are sent at once, and then at most once in a window. */
export const THROTTLED = ['points.changed', 'leaderboard.rank_changed', 'leaderboard.changed'] as const;
type Throttled = (typeof THROTTLED)[number];

const isThrottled = ({ type }: Notification): boolean => (THROTTLED as readonly string[]).includes(type);

interface PointsPayload {
  points: { added: number; awards: unknown[]; level?: unknown };
}

export interface RankPayload {
  leaderboard: { rank: number | null; value: number | null; previousRank: number | null; previousValue: number | null };
}

/** Maximum number of awards in a message; the newest are kept. */
const MOST_AWARDS = 100;

/** The payload of a `leaderboard.changed` before its rankings are read: the run and group that moved. */
export const movedBoard = ({ payload }: Pick<Notification, 'payload'>): BoardPlace => {
  const { boardNo, runDay, group } = JSON.parse(payload) as BoardPlace;
  return { boardNo, runDay, group };
};

/** The window's key for a run and group of a board: of its rankings and, for each user, of the rank. */
export function boardSubject({ boardNo, runDay, group }: BoardPlace): string {
  return uuidText(createHash('sha256').update(`${boardNo}:${runDay}:${group}`).digest('hex').slice(0, 32));
}

/** A notification in the form that waits in a window. */
export function throttledChange(notification: Notification): WindowChange {
  const { tenantNo, userId, source, atMs, about, place, payload } = notification;
  const type = notification.type as Throttled;
  const change: WindowChange = {
    tenantNo,
    userId: userId ?? '',
    subject: '',
    type,
    source,
    atMs,
    about: JSON.stringify(about),
    payload,
    added: 0,
    awards: '',
    level: '',
    rank: null,
    value: null,
    atOnce: true,
  };
  if (type === 'leaderboard.changed') return { ...change, subject: boardSubject(place!), atOnce: false };
  if (type === 'leaderboard.rank_changed') {
    const { rank, value } = (JSON.parse(payload) as RankPayload).leaderboard;
    return { ...change, subject: boardSubject(place!), rank, value };
  }
  const parsed = JSON.parse(payload) as PointsPayload;
  const { added, awards, level } = parsed.points;
  parsed.points.awards = [];
  return {
    ...change,
    subject: about.pointsSystemId!,
    payload: JSON.stringify(parsed),
    added,
    awards: awards.map((award) => JSON.stringify(award)).join('\n'),
    level: level === undefined ? '' : JSON.stringify(level),
  };
}

type MergedChange = Pick<WindowChange, 'type' | 'payload' | 'added' | 'awards' | 'level'> & {
  /** Rank and value before the first of them. */
  previous: { rank: number | null; value: number | null } | null;
};

/** The payload of a message that reports all changes since the last one: the latest state with the total changes. */
export function mergedPayload({ type, payload, added, awards, level, previous }: MergedChange): string {
  if (type === 'leaderboard.rank_changed') {
    if (previous === null) return payload;
    const parsed = JSON.parse(payload) as RankPayload;
    parsed.leaderboard.previousRank = previous.rank;
    parsed.leaderboard.previousValue = previous.value;
    return JSON.stringify(parsed);
  }
  if (type !== 'points.changed') return payload;
  const parsed = JSON.parse(payload) as PointsPayload;
  const lines = awards === '' ? [] : awards.split('\n').slice(-MOST_AWARDS);
  parsed.points.added = added;
  parsed.points.awards = lines.map((line) => JSON.parse(line) as unknown);
  if (level !== '') parsed.points.level = JSON.parse(level) as unknown;
  return JSON.stringify(parsed);
}

/** Merges a later change of a window into an earlier one. */
function laidOver(earlier: WindowChange, later: WindowChange): WindowChange {
  return {
    ...later,
    added: earlier.added + later.added,
    awards: [earlier.awards, later.awards].filter((lines) => lines !== '').join('\n'),
    level: later.level === '' ? earlier.level : later.level,
  };
}
