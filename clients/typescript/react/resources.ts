import type { Laurel } from '../src/laurel.ts';
import type { LiveMessage } from '../src/live.ts';
import type { CallOptions } from '../src/transport.ts';
import type { LeaderboardPage, Streak, User, UserPoints } from '../src/generated.ts';

/** Which part of a leaderboard. */
export interface BoardPart {
  /** First day of the run to show. Default: the current run. */
  run?: string;
  /** The group of a leaderboard with breakdown attributes, such as `plan:pro`. */
  userAttributes?: string | string[];
}

/** Places from the top. */
export interface TopView extends BoardPart {
  /** How many places. Default: 10. */
  limit?: number;
  /** How many places to skip. */
  offset?: number;
}

/** A user's place with the neighbours. */
export interface AroundView extends BoardPart {
  around: string;
  /** Places before the user. Default: 2. */
  above?: number;
  /** Places after the user. Default: 2. */
  below?: number;
}

/** Up to 500 users, such as friends, ranked among themselves. */
export interface AmongView {
  among: string[];
}

export type LeaderboardView = TopView | AroundView | AmongView;

/** Everything that a hook can show, as JSON. */
export type Resource =
  | { kind: 'user' }
  | { kind: 'streak'; historyPeriods?: number | undefined }
  | { kind: 'points'; key: string; awards?: number | undefined }
  | { kind: 'leaderboard'; key: string; view: LeaderboardView };

export type ResourceData = User | Streak | UserPoints | LeaderboardPage;

function readLeaderboard(
  laurel: Laurel,
  { key, view }: Resource & { kind: 'leaderboard' },
  options: CallOptions,
): Promise<LeaderboardPage> {
  const leaderboard = laurel.leaderboard(key);
  if ('among' in view) return leaderboard.among(view.among, options);
  if (!('around' in view)) return leaderboard.get({ ...view, ...options });
  const { around, ...places } = view;
  return leaderboard.around(around, { ...places, ...options });
}

/** Reads a resource of the client's user. Rejects like the client's calls. */
export async function readResource(
  laurel: Laurel,
  resource: Resource,
  options: CallOptions = {},
): Promise<ResourceData> {
  switch (resource.kind) {
    case 'user':
      return laurel.user().get(options);
    case 'streak': {
      const { historyPeriods } = resource;
      return laurel.user().streak({ ...(historyPeriods && { historyPeriods }), ...options });
    }
    case 'points': {
      const { awards, key } = resource;
      return laurel
        .user()
        .points(key)
        .get({ ...(awards && { awards }), ...options });
    }
    case 'leaderboard':
      return readLeaderboard(laurel, resource, options);
  }
}

/** The places of a `leaderboard.changed`, of which there are at most this many. */
const REPORTED_PLACES = 10;

/**
 * The leaderboard that a message has completely; undefined if it must be read. A repeating one must be: for a few hours, users in
 * different time zones play different runs.
 */
function reported(message: LiveMessage, view: LeaderboardView): LeaderboardPage | undefined {
  if (message.type !== 'leaderboard.changed' || 'around' in view || 'among' in view) return undefined;
  const { leaderboard } = message;
  const { offset = 0, limit = REPORTED_PLACES, run, userAttributes } = view;
  const isPart = run !== undefined || userAttributes !== undefined || offset + limit > REPORTED_PLACES;
  if (isPart || leaderboard.runUnit !== null || leaderboard.breakdownAttributes.length > 0) return undefined;
  return { ...leaderboard, rankings: leaderboard.rankings.slice(offset, offset + limit) };
}

/** Returned by `changeOf` if the resource must be read again. */
export const STALE = Symbol('stale');

/**
 * What a message changes of a resource: its new data, `STALE`, or undefined if the message is about something else. `code`: that of
 * the error of the last read.
 */
export function changeOf(
  resource: Resource,
  { data, code }: { data: ResourceData | undefined; code: string | undefined },
  message: LiveMessage,
): ResourceData | typeof STALE | undefined {
  // Nobody knew the user before.
  if (code === 'not_found' && resource.kind !== 'leaderboard' && 'user' in message) return STALE;
  switch (resource.kind) {
    case 'user': {
      if (!('user' in message)) return undefined;
      const user = message.user as User;
      const known = data as User | undefined;
      if (known === undefined) return STALE;
      return user.updated > known.updated ? user : undefined;
    }
    case 'streak':
      return message.type.startsWith('streak.') ? STALE : undefined;
    case 'points':
      return 'points' in message && (message.points as { key: string }).key === resource.key ? STALE : undefined;
    case 'leaderboard': {
      if (!('leaderboard' in message)) return undefined;
      const { key } = message.leaderboard as { key: string };
      return key === resource.key ? (reported(message, resource.view) ?? STALE) : undefined;
    }
  }
}
