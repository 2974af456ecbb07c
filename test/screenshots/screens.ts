/** IDs of the month that addresses of screens contain. */
export interface Places {
  pointsId: string;
  metricId: string;
  webhookId: string;
  recomputationId: string;
}

/** The console's screens: a file name, and the address below `/console`. `test/screenshots/screens.test.ts` compares it with the router. */
export const SCREENS: readonly { name: string; path: string }[] = [
  { name: 'overview', path: '/' },
  { name: 'users', path: '/users' },
  { name: 'user', path: '/users/{user}' },
  { name: 'user-missing', path: '/users/nobody' },
  { name: 'analytics-users', path: '/analytics?view=users' },
  { name: 'analytics-retention', path: '/analytics?view=retention' },
  { name: 'analytics-metrics', path: '/analytics?view=metrics&id={metricId}' },
  { name: 'analytics-achievements', path: '/analytics?view=achievements' },
  { name: 'analytics-points', path: '/analytics?view=points&id={pointsId}' },
  { name: 'analytics-streaks', path: '/analytics?view=streaks' },
  { name: 'analytics-leaderboards', path: '/analytics?view=leaderboards' },
  { name: 'metrics', path: '/metrics' },
  { name: 'metrics-new', path: '/metrics#new-metric' },
  { name: 'attributes', path: '/attributes' },
  { name: 'achievements', path: '/achievements' },
  { name: 'achievements-new', path: '/achievements#new-achievement' },
  { name: 'points', path: '/points' },
  { name: 'points-system', path: '/points/{pointsId}' },
  { name: 'leaderboards', path: '/leaderboards' },
  { name: 'leaderboards-new', path: '/leaderboards#new-leaderboard' },
  { name: 'leaderboard', path: '/leaderboards/most-xp' },
  { name: 'leaderboard-runs', path: '/leaderboards/flips-of-the-week' },
  { name: 'leaderboard-groups', path: '/leaderboards/flips-by-country' },
  { name: 'leaderboard-leagues', path: '/leaderboards/leagues' },
  { name: 'rewards', path: '/rewards' },
  { name: 'streaks', path: '/streaks' },
  { name: 'messages', path: '/messages' },
  { name: 'messages-channel', path: '/messages/channel' },
  { name: 'messages-log', path: '/messages/log' },
  { name: 'messages-template', path: '/messages/achievement_completed/all' },
  { name: 'messages-push', path: '/messages/push' },
  { name: 'messages-push-template', path: '/messages/push/achievement_completed/all' },
  { name: 'messages-push-channels', path: '/messages/push-channels' },
  { name: 'webhooks', path: '/webhooks' },
  { name: 'webhook', path: '/webhooks/{webhookId}' },
  { name: 'configuration', path: '/configuration' },
  { name: 'organisation', path: '/organisation' },
  { name: 'keys', path: '/keys' },
  { name: 'tenants', path: '/tenants' },
  { name: 'import', path: '/import' },
  { name: 'quarantine', path: '/quarantine' },
  { name: 'recomputations', path: '/recomputations' },
  { name: 'recomputation', path: '/recomputations/{recomputationId}' },
  { name: 'jobs', path: '/jobs' },
  { name: 'requests', path: '/requests' },
  { name: 'audit-log', path: '/audit-log' },
  { name: 'system', path: '/system' },
  { name: 'no-such-screen', path: '/no-such-screen' },
];
