import { invalidCall } from './errors.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import type * as api from './generated.ts';
import { path, without, type CallOptions, type KeyedOptions, type Transport } from './transport.ts';

/** Options of `track`. */
export interface TrackOptions extends KeyedOptions {
  /** Values of event attributes, by key. */
  attributes?: Record<string, string>;
  /** When it happened, if not now. Keys of users may send it only if the events settings allow it. */
  occurredAt?: Date | string;
}

/** Options of a spending or hold. */
export interface SpendOptions extends KeyedOptions {
  /** Why, for lists of spendings. */
  reason?: string;
  /** What it is for, such as the number of an order. */
  reference?: string;
}

/** The time as text. Throws `invalid_call` for an invalid date. */
export function isoTime(time: Date | string): string {
  if (typeof time === 'string') return time;
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw invalidCall('occurredAt: the date is invalid.');
  return date.toISOString();
}

const keyOf = ({ idempotencyKey }: KeyedOptions): string => idempotencyKey ?? newIdempotencyKey();

/** The points of a user in one points system. */
export function createUserPoints({ send }: Transport, userId: string, key: string) {
  const base = path('users', userId, 'points', key);
  const get = <T>(end: string, options: CallOptions = {}): Promise<T> =>
    send({ method: 'GET', path: `${base}${end}`, query: without(options) }, options);
  const change = (how: 'spend' | 'hold', options: SpendOptions, fields: object): Promise<api.BalanceChange> => {
    const { reason, reference } = options;
    const body = { ...fields, reason, reference };
    return send({ method: 'POST', path: `${base}/${how}`, body, idempotencyKey: keyOf(options) }, options);
  };
  const close =
    (what: 'spendings' | 'holds', how: string) =>
    (id: string, options?: CallOptions): Promise<api.BalanceChange> =>
      send({ method: 'POST', path: `${base}${path(what, id, how)}` }, options);
  return {
    /** Total, balance and level; with `awards`, the latest awards. */
    get: (options?: { awards?: number } & CallOptions): Promise<api.UserPoints> => get('', options),
    /** The total by day, week or month. */
    summary: (options: api.SummaryQuery & CallOptions): Promise<api.SummaryEntry[]> => get('/event-summary', options),
    /** Boosts of this user. */
    boosts: (options?: CallOptions): Promise<api.PointsBoost[]> => get('/boosts', options),
    /** Lowers the balance once. Rejects with `insufficient_balance` if it does not suffice. */
    spend: (amount: number, options: SpendOptions = {}): Promise<api.BalanceChange> =>
      change('spend', options, { amount }),
    /** Sets points aside for `expiresIn` seconds, until `capture` spends them or `release` gives them back. */
    hold: (amount: number, options: SpendOptions & { expiresIn: number }): Promise<api.BalanceChange> =>
      change('hold', options, { amount, expiresIn: options.expiresIn }),
    /** Spends the points of a hold. For admin keys. */
    capture: close('holds', 'capture'),
    /** Gives back the points of a hold. For admin keys. */
    release: close('holds', 'release'),
    /** Gives back the points of a spending, once. For admin keys. */
    refund: close('spendings', 'refund'),
  };
}

/** A user and what belongs to them. `sent`: the ID, and fields that each event sets, such as the time zone. */
export function createUser(transport: Transport, sent: api.UserRequest) {
  const { send } = transport;
  const { id } = sent;
  const base = path('users', id);
  const get = <T>(end: string, options: CallOptions = {}): Promise<T> =>
    send({ method: 'GET', path: `${base}${end}`, query: without(options) }, options);
  const set = <T>(method: 'PUT' | 'PATCH', end: string, body: object, options?: CallOptions): Promise<T> =>
    send({ method, path: `${base}${end}`, body }, options);
  const achievements = (options: { includeIncomplete?: boolean } & CallOptions = {}): Promise<api.UserAchievement[]> =>
    // The operation takes `true` alone.
    get('/achievements', { ...options, includeIncomplete: options.includeIncomplete || undefined } as CallOptions);

  return {
    id,
    /** The fields that each event sends. */
    sent,
    /** Records an event, and resolves with everything that it changed. Repetitions have the same idempotency key. */
    track: async (metric: string, value = 1, options: TrackOptions = {}): Promise<api.EventResult> => {
      const { attributes, occurredAt } = options;
      const body = { user: sent, value, attributes, occurredAt: occurredAt && isoTime(occurredAt) };
      const idempotencyKey = keyOf(options);
      return send({ method: 'POST', path: path('metrics', metric, 'event'), body, idempotencyKey }, options);
    },
    get: (options?: CallOptions): Promise<api.User> => get('', options),
    /** Creates the user, or sets these fields. */
    identify: (profile: api.UserChanges = {}, options?: CallOptions): Promise<api.ChangedUser> =>
      set('PUT', '', profile, options),
    /** Sets these fields of an existing user. */
    update: (profile: api.UserChanges, options?: CallOptions): Promise<api.ChangedUser> =>
      set('PATCH', '', profile, options),
    preferences: (options?: CallOptions): Promise<api.Preferences> => get('/preferences', options),
    updatePreferences: (changes: api.PreferencesChanges, options?: CallOptions): Promise<api.Preferences> =>
      set('PATCH', '/preferences', changes, options),
    /** All totals, with the achievements of each metric. */
    metrics: (options?: CallOptions): Promise<api.UserMetric[]> => get('/metrics', options),
    /** The total of one metric. */
    metric: (key: string) => ({
      get: (options?: CallOptions): Promise<api.UserMetric> => get(path('metrics', key), options),
      /** The total by day, week or month. */
      summary: (options: api.SummaryQuery & CallOptions): Promise<api.SummaryEntry[]> =>
        get(`${path('metrics', key)}/event-summary`, options),
    }),
    /** Completed achievements; with `includeIncomplete`, the others, too. */
    achievements,
    /** Repeating and seasonal achievements that can be completed now, with the progress in their current `period`. */
    quests: async (options?: CallOptions): Promise<Quest[]> => {
      const all = await achievements({ ...options, includeIncomplete: true });
      return all.filter((one): one is Quest => one.period !== undefined);
    },
    /** Completes an achievement with the trigger `api`. */
    complete: (achievement: string, options?: CallOptions): Promise<api.AchievementCompletion> =>
      send({ method: 'POST', path: path('achievements', achievement, 'complete'), body: { user: sent } }, options),
    /** The streak; with `historyPeriods`, that many periods, the current one last. */
    streak: (options?: { historyPeriods?: number } & CallOptions): Promise<api.Streak> => get('/streak', options),
    points: (key: string): UserPointsCalls => createUserPoints(transport, id, key),
    /** The rewards that can be claimed, with what they mean for the user. */
    rewards: (options?: { limit?: number; skip?: number } & CallOptions): Promise<api.UserReward[]> =>
      get('/rewards', options),
    /** Claims a reward for its price, once for the idempotency key. */
    claim: (reward: string, options: KeyedOptions = {}): Promise<api.Claim> =>
      send(
        {
          method: 'POST',
          path: path('rewards', reward, 'claim'),
          body: { userId: id },
          idempotencyKey: keyOf(options),
        },
        options,
      ),
    /** The user's claims, newest first. */
    claims: (options?: api.ClaimsQuery & CallOptions): Promise<api.ClaimsPage> => get('/claims', options),
    /** Rank, score and percentile on a leaderboard. */
    leaderboard: (key: string, options?: api.UserLeaderboardQuery & CallOptions): Promise<api.UserLeaderboard> =>
      get(path('leaderboards', key), options),
    /** Tier and cohort in the leagues of a leaderboard; `run`: the first day of another run than the current one. */
    league: (key: string, options?: { run?: string } & CallOptions): Promise<api.UserLeague> =>
      get(path('leaderboards', key, 'leagues'), options),
    /** The review of a year; by default of the current one. */
    wrapped: (options?: { year?: number } & CallOptions): Promise<api.Wrapped> => get('/wrapped', options),
  };
}

/** An achievement with a period. */
export type Quest = api.UserAchievement & { period: api.QuestPeriod };

export type UserPointsCalls = ReturnType<typeof createUserPoints>;
export type UserCalls = ReturnType<typeof createUser>;
