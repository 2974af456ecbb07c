/** A request that each operation accepts, about one user; several tests iterate over them. */
export interface ValidRequest {
  /** Path and query, with the user's ID if the operation names one. */
  path: (user: string) => string;
  body?: (user: string) => unknown;
  /** Whether it names a user: an application key may name its own only. */
  namesUser: boolean;
  /** For admin keys only: about a spending that does not exist, so that they get 404. */
  isForServers?: true;
}

const to = (path: string): ValidRequest => ({ path: () => path, namesUser: false });
const of = (path: (user: string) => string, body?: (user: string) => unknown): ValidRequest => ({
  path,
  namesUser: true,
  ...(body && { body }),
});
const ofServers = (rest: string): ValidRequest => ({
  ...of((id) => `/v1/users/${id}/points/xp/${rest.replace('{}', '00000000-0000-7000-8000-000000000000')}`),
  isForServers: true,
});
const day = 'aggregation=daily&startDate=2026-11-18&endDate=2026-11-19';

/** By operation ID. An operation without a row fails the tests that iterate over them. */
export const APPLICATION_REQUESTS: Record<string, ValidRequest> = {
  achievements_all: to('/v1/achievements'),
  web_push_key: to('/v1/push/web-key'),
  achievements_complete: of(
    () => '/v1/achievements/tour/complete',
    (id) => ({ user: { id } }),
  ),
  leaderboards_all: to('/v1/leaderboards'),
  leaderboards_get: of((id) => `/v1/leaderboards/flips?userId=${id}`),
  leaderboards_rankings: of(
    () => '/v1/leaderboards/flips/rankings',
    (id) => ({ userIds: [id] }),
  ),
  leaderboards_teams: to('/v1/leaderboards/weekly/teams'),
  live_tickets_create: of(
    () => '/v1/live/tickets',
    (id) => ({ userId: id }),
  ),
  metrics_event: of(
    () => '/v1/metrics/flips/event',
    (id) => ({ user: { id }, value: 1 }),
  ),
  points_boosts: to('/v1/points/xp/boosts'),
  points_level_summary: to('/v1/points/xp/level-summary'),
  points_levels: to('/v1/points/xp/levels'),
  points_summary: to('/v1/points/xp/summary'),
  points_system: to('/v1/points/xp'),
  streaks_list: of((id) => `/v1/streaks?userIds=${id}`),
  streaks_rankings: to('/v1/streaks/rankings'),
  users_achievements: of((id) => `/v1/users/${id}/achievements`),
  users_all_metrics: of((id) => `/v1/users/${id}/metrics`),
  users_create: of(
    () => '/v1/users',
    (id) => ({ id }),
  ),
  users_get: of((id) => `/v1/users/${id}`),
  users_get_preferences: of((id) => `/v1/users/${id}/preferences`),
  users_identify: of(
    (id) => `/v1/users/${id}`,
    () => ({ name: 'Ada' }),
  ),
  spendings_capture: ofServers('holds/{}/capture'),
  spendings_hold: of(
    (id) => `/v1/users/${id}/points/xp/hold`,
    () => ({ amount: 1, expiresIn: 60 }),
  ),
  spendings_refund: ofServers('spendings/{}/refund'),
  spendings_release: ofServers('holds/{}/release'),
  spendings_spend: of(
    (id) => `/v1/users/${id}/points/xp/spend`,
    () => ({ amount: 1 }),
  ),
  rewards_claim: of(
    () => '/v1/rewards/hat/claim',
    (id) => ({ userId: id }),
  ),
  users_claims: of((id) => `/v1/users/${id}/claims`),
  users_rewards: of((id) => `/v1/users/${id}/rewards`),
  users_leaderboard: of((id) => `/v1/users/${id}/leaderboards/flips`),
  users_leaderboard_leagues: of((id) => `/v1/users/${id}/leaderboards/league/leagues`),
  users_message_opened: of((id) => `/v1/users/${id}/messages/00000000-0000-8000-8000-000000000000/opened`),
  users_metric_event_summary: of((id) => `/v1/users/${id}/metrics/flips/event-summary?${day}`),
  users_points: of((id) => `/v1/users/${id}/points/xp`),
  users_points_boosts: of((id) => `/v1/users/${id}/points/xp/boosts`),
  users_points_event_summary: of((id) => `/v1/users/${id}/points/xp/event-summary?${day}`),
  users_single_metric: of((id) => `/v1/users/${id}/metrics/flips`),
  users_streak: of((id) => `/v1/users/${id}/streak`),
  users_update: of(
    (id) => `/v1/users/${id}`,
    () => ({ name: 'Ada' }),
  ),
  users_update_preferences: of(
    (id) => `/v1/users/${id}/preferences`,
    () => ({ notifications: { recap: ['email'] } }),
  ),
  users_wrapped: of((id) => `/v1/users/${id}/wrapped`),
};
