import { invalidCall, LaurelError } from './errors.ts';
import { createLeaderboard, createPointsSystem, type LeaderboardCalls, type PointsSystemCalls } from './leaderboard.ts';
import type * as api from './generated.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import { createLive, type Live, type LiveOptions } from './live.ts';
import { createTransport, without, type CallOptions, type TransportOptions } from './transport.ts';
import { createUser, isoTime, type TrackOptions, type UserCalls } from './user.ts';

export interface LaurelOptions extends TransportOptions {
  /**
   * The user of `track` and of `user()`: an ID, or an ID with fields that every event sets, such as
   * `{ id: '18', tz: 'Europe/Berlin' }`. A key with the scope `events` may send only the ID.
   */
  user?: string | api.UserRequest;
}

/** An event of a list. */
export interface ListedEvent {
  metric: string;
  /** The ID, or an ID with fields to set. */
  user: string | api.UserRequest;
  /** Default: 1. */
  value?: number;
  attributes?: Record<string, string>;
  occurredAt?: Date | string;
  /** By default random. */
  idempotencyKey?: string;
}

const withId = (user: string | api.UserRequest): api.UserRequest => (typeof user === 'string' ? { id: user } : user);

export function toBatchEvent({ metric, user, value = 1, occurredAt, ...event }: ListedEvent): api.BatchEvent {
  return {
    key: metric,
    user: withId(user),
    value,
    ...event,
    ...(occurredAt !== undefined && { occurredAt: isoTime(occurredAt) }),
    idempotencyKey: event.idempotencyKey ?? newIdempotencyKey(),
  };
}

/**
 * A client of Laurel. It opens no connection before the first call. A call that fails rejects with a `LaurelError`; a call
 * that its `signal` ends rejects with the signal's reason.
 */
export function createLaurel(options: LaurelOptions) {
  const transport = createTransport(options);
  const { send } = transport;
  const own = options.user === undefined ? undefined : withId(options.user);

  const user = (who: string | api.UserRequest | undefined = own): UserCalls => {
    if (!who) throw invalidCall('user: the ID of a user is missing, here and in createLaurel.');
    return createUser(transport, withId(who === own?.id ? own! : who));
  };

  const get = <T>(below: string, options: CallOptions): Promise<T> =>
    send({ method: 'GET', path: below, query: without(options) }, options);

  return {
    /** The user of the options; undefined if they have none. */
    userId: own?.id,
    /** Records an event of the user of the options, and resolves with everything that it changed. */
    track: async (metric: string, value?: number, trackOptions?: TrackOptions): Promise<api.EventResult> =>
      user().track(metric, value, trackOptions),
    /** Calls about a user; by default the user of the options. */
    user,
    /** All active achievements, with the number of users who completed each. */
    achievements: (options: { userAttributes?: string | string[] } & CallOptions = {}): Promise<api.Achievement[]> =>
      get('/achievements', options),
    leaderboards: (options: { includeFinished?: boolean } & CallOptions = {}): Promise<api.Leaderboard[]> =>
      get('/leaderboards', options),
    leaderboard: (key: string): LeaderboardCalls => createLeaderboard(transport, key),
    points: (key: string): PointsSystemCalls => createPointsSystem(transport, key),
    /** Lengths of the streaks of several users, whose IDs have no comma. */
    streaks: (userIds: string[], options: CallOptions = {}): Promise<api.StreakLength[]> =>
      send({ method: 'GET', path: '/streaks', query: { userIds: userIds.join() } }, options),
    /** The users with the longest streaks. */
    streakRankings: (options: api.StreakRankingsQuery & CallOptions = {}): Promise<api.StreakRanking[]> =>
      get('/streaks/rankings', options),
    /**
     * Up to 1,000 events of any users, with the result of each in the same order; a refused one has `error` and `code`, and
     * does not affect the others. Needs `adminUrl` and an admin key.
     */
    events: async (events: ListedEvent[], options?: CallOptions): Promise<api.BatchResult[]> => {
      const body = events.map(toBatchEvent);
      const query = { wait: true, partial: true };
      const request = { method: 'POST', path: '/metrics/events', query, body, admin: true } as const;
      return (await send<api.BatchResults>(request, options)).results;
    },
    /** Makes a key for a user, for a browser or app. It is shown only once. Needs `adminUrl` and an admin key. */
    createKey: async (userId: string, options: Omit<api.UserKeyRequest, 'userId'> & CallOptions = {}) => {
      const body = [{ userId, ...without(options) }];
      // Repeated after an unknown outcome, it could make a second key.
      const request = { method: 'POST', path: '/application-api-keys', body, admin: true, repeatable: false } as const;
      const made = await send<{ created: api.UserKey[]; issues: { message: string }[] }>(request, options);
      if (made.created[0] !== undefined) return made.created[0];
      // The answer of a list has the status 200 even if its only key is refused.
      throw new LaurelError('invalid', made.issues[0]?.message ?? 'No key was made.', { status: 422 });
    },
    /** Opens a live stream of the user of the key, or of everything with an admin key. */
    live: (options?: LiveOptions): Live => createLive(transport, options),
    /** Any other operation of the API, such as `send({ method: 'GET', path: '/jobs', admin: true })`. */
    send,
  };
}

export type Laurel = ReturnType<typeof createLaurel>;
