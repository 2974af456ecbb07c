import type { Laurel } from '../src/laurel.ts';
import type { LiveMessage } from '../src/live.ts';
import type { LeaderboardPage, Streak, User, UserPoints } from '../src/generated.ts';

/** Places from the top. */
export interface TopView {
  /** How many places. Default: 10. */
  limit?: number;
  /** How many places to skip. */
  offset?: number;
  /** First day of the run to show. Default: the current run. */
  run?: string;
  /** The group of a leaderboard with breakdown attributes, such as `plan:pro`. */
  userAttributes?: string | string[];
}

/** A user's place with the neighbours. */
export interface AroundView {
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

function readLeaderboard(laurel: Laurel, key: string, view: LeaderboardView): Promise<LeaderboardPage> {
  const leaderboard = laurel.leaderboard(key);
  if ('among' in view) return leaderboard.among(view.among);
  if (!('around' in view)) return leaderboard.get(view);
  const { around, ...places } = view;
  return leaderboard.around(around, places);
}

/** Reads a resource of the client's user. Rejects like the client's calls. */
export async function readResource(laurel: Laurel, resource: Resource): Promise<ResourceData> {
  switch (resource.kind) {
    case 'user':
      return laurel.user().get();
    case 'streak':
      return laurel.user().streak(resource.historyPeriods ? { historyPeriods: resource.historyPeriods } : {});
    case 'points':
      return laurel
        .user()
        .points(resource.key)
        .get(resource.awards ? { awards: resource.awards } : {});
    case 'leaderboard':
      return readLeaderboard(laurel, resource.key, resource.view);
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

/** What a message changes of a resource: its new data, `STALE`, or undefined if the message is about something else. */
export function changeOf(
  resource: Resource,
  data: ResourceData | undefined,
  message: LiveMessage,
): ResourceData | typeof STALE | undefined {
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
