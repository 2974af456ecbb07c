/** Throttles: similar notifications within a window are merged. */
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

/** The types that go out at once, and then at most once in a window. */
export const THROTTLED = ['points.changed', 'leaderboard.rank_changed', 'leaderboard.changed'] as const;
type Throttled = (typeof THROTTLED)[number];

const isThrottled = ({ type }: Notification): boolean => (THROTTLED as readonly string[]).includes(type);

/** What is merged of a points system. */
interface PointsPayload {
  points: { added: number; awards: unknown[]; level?: unknown };
}

/** What is merged of a place on a board. */
export interface RankPayload {
  leaderboard: {
    rank: number | null;
    value: number | null;
    previousRank: number | null;
    previousValue: number | null;
  };
}

/** Awards that a message shows: the newest. */
const MOST_AWARDS = 100;

/** The payload of a `leaderboard.changed` until its rankings are read: which run and group moved. */
export const movedBoard = ({ payload }: Pick<Notification, 'payload'>): BoardPlace => {
  const { boardNo, runDay, group } = JSON.parse(payload) as BoardPlace;
  return { boardNo, runDay, group };
};

/** The window of a run and group of a board: of its rankings, and, for each user, of the rank there. */
export function boardSubject({ boardNo, runDay, group }: BoardPlace): string {
  return uuidText(createHash('sha256').update(`${boardNo}:${runDay}:${group}`).digest('hex').slice(0, 32));
}

/** A notification as what waits in a window. */
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

/** What is known of all changes since the last message, with the latest of them. */
type MergedChange = Pick<WindowChange, 'type' | 'payload' | 'added' | 'awards' | 'level'> & {
  /** Rank and value before the first of them. */
  previous: { rank: number | null; value: number | null } | null;
};

/** The payload of a message that reports all changes since the last one: the latest state, and what they come to. */
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

/** Lays a later change of the same window over an earlier one. */
function laidOver(earlier: WindowChange, later: WindowChange): WindowChange {
  return {
    ...later,
    added: earlier.added + later.added,
    awards: [earlier.awards, later.awards].filter((lines) => lines !== '').join('\n'),
    level: later.level === '' ? earlier.level : later.level,
  };
}
