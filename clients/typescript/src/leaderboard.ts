import type * as api from './generated.ts';
import { path, without, type CallOptions, type Transport } from './transport.ts';

/** Options of `around`. */
export interface AroundOptions extends CallOptions {
  /** Places before the user. Default: 2. */
  above?: number;
  /** Places after the user. Default: 2. */
  below?: number;
  /** First day of the run to show. Default: the current run. */
  run?: string;
  /** The group of a leaderboard with breakdown attributes, such as `plan:pro`. */
  userAttributes?: string | string[];
}

/** Calls about a leaderboard. */
export function createLeaderboard({ send }: Transport, key: string) {
  const base = path('leaderboards', key);
  return {
    /** A page of places from the top. */
    get: (options: Omit<api.LeaderboardQuery, 'userId'> & CallOptions = {}): Promise<api.LeaderboardPage> =>
      send({ method: 'GET', path: base, query: without(options) }, options),
    /** A user's place with the neighbours. */
    around: (userId: string, options: AroundOptions = {}): Promise<api.LeaderboardPage> => {
      const { above = 2, below = 2, run, userAttributes } = options;
      const query = { userId, offset: -above, limit: above + 1 + below, run, userAttributes };
      return send({ method: 'GET', path: base, query }, options);
    },
    /** Up to 500 users, such as friends, ranked among themselves. */
    among: (
      userIds: string[],
      options: Omit<api.RankingsAmongRequest, 'userIds'> & CallOptions = {},
    ): Promise<api.LeaderboardPage> =>
      send({ method: 'POST', path: `${base}/rankings`, body: { userIds, ...without(options) } }, options),
    /** The ranking of teams, on a leaderboard with a team attribute. */
    teams: (options: api.TeamsQuery & CallOptions = {}): Promise<api.TeamsPage> =>
      send({ method: 'GET', path: `${base}/teams`, query: without(options) }, options),
  };
}

/** Calls about a points system. */
export function createPointsSystem({ send }: Transport, key: string) {
  const get = <T>(end: string, options: CallOptions = {}): Promise<T> =>
    send({ method: 'GET', path: `${path('points', key)}${end}`, query: without(options) }, options);
  return {
    /** Its description and triggers. */
    get: (options?: CallOptions): Promise<api.PointsSystem> => get('', options),
    /** How many users have how many points. `userAttributes` is for admin keys. */
    summary: (options?: { userAttributes?: string | string[] } & CallOptions): Promise<api.PointsRange[]> =>
      get('/summary', options),
    boosts: (options?: { includeFinished?: boolean } & CallOptions): Promise<api.PointsBoost[]> =>
      get('/boosts', options),
    levels: (options?: CallOptions): Promise<api.PointsLevel[]> => get('/levels', options),
    /** How many users have each level. */
    levelSummary: (options?: CallOptions): Promise<api.PointsLevelUsers[]> => get('/level-summary', options),
  };
}

export type LeaderboardCalls = ReturnType<typeof createLeaderboard>;
export type PointsSystemCalls = ReturnType<typeof createPointsSystem>;
