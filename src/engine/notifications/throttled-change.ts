import { createHash } from 'node:crypto';
import type { BoardPlace, Notification } from '../../domain/notification.ts';
import type { WindowChange } from '../../postgres/notifications/windows.ts';
import { uuidText } from '../../domain/uuid.ts';

/** The types that go out at once, and then at most once in a window. */
export const THROTTLED = ['points.changed', 'leaderboard.rank_changed', 'leaderboard.changed'] as const;
type Throttled = (typeof THROTTLED)[number];

export const isThrottled = ({ type }: Notification): boolean => (THROTTLED as readonly string[]).includes(type);

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
export type MergedChange = Pick<WindowChange, 'type' | 'payload' | 'added' | 'awards' | 'level'> & {
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
export function laidOver(earlier: WindowChange, later: WindowChange): WindowChange {
  return {
    ...later,
    added: earlier.added + later.added,
    awards: [earlier.awards, later.awards].filter((lines) => lines !== '').join('\n'),
    level: later.level === '' ? earlier.level : later.level,
  };
}
