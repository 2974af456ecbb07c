import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { analyticsSearch } from './screens/analytics/search.ts';
import { usersSearch } from './screens/users-search.ts';
import { Frame } from './shell/frame.tsx';
import { NotFound } from './shell/not-found.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
const at = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => root, path, component });

const analytics = createRoute({
  getParentRoute: () => root,
  path: '/analytics',
  component: lazyRouteComponent(() => import('./screens/analytics/analytics.tsx'), 'Analytics'),
  validateSearch: analyticsSearch,
});
const users = createRoute({
  getParentRoute: () => root,
  path: '/users',
  component: lazyRouteComponent(() => import('./screens/users.tsx'), 'Users'),
  validateSearch: usersSearch,
});

// Named, so that the first load has their lists of files once.
const messageTemplates = () => import('./screens/messages/templates.tsx');
const messageTemplate = () => import('./screens/messages/template.tsx');

/** Every screen is loaded when it is first opened. */
const tree = root.addChildren([
  at(
    '/',
    lazyRouteComponent(() => import('./screens/overview/overview.tsx'), 'Overview'),
  ),
  analytics,
  users,
  at(
    '/users/$id',
    lazyRouteComponent(() => import('./screens/user/user.tsx'), 'UserScreen'),
  ),
  at(
    '/metrics',
    lazyRouteComponent(() => import('./screens/metrics.tsx'), 'Metrics'),
  ),
  at(
    '/attributes',
    lazyRouteComponent(() => import('./screens/attributes.tsx'), 'Attributes'),
  ),
  at(
    '/achievements',
    lazyRouteComponent(() => import('./screens/achievements.tsx'), 'Achievements'),
  ),
  at(
    '/points',
    lazyRouteComponent(() => import('./screens/points.tsx'), 'Points'),
  ),
  at(
    '/points/$id',
    lazyRouteComponent(() => import('./screens/points-system.tsx'), 'PointsSystemScreen'),
  ),
  at(
    '/leaderboards',
    lazyRouteComponent(() => import('./screens/leaderboards.tsx'), 'Leaderboards'),
  ),
  at(
    '/leaderboards/$key',
    lazyRouteComponent(() => import('./screens/leaderboard.tsx'), 'LeaderboardScreen'),
  ),
  at(
    '/rewards',
    lazyRouteComponent(() => import('./screens/rewards.tsx'), 'Rewards'),
  ),
  at(
    '/streaks',
    lazyRouteComponent(() => import('./screens/streaks.tsx'), 'Streaks'),
  ),
  at(
    '/webhooks',
    lazyRouteComponent(() => import('./screens/webhooks.tsx'), 'Webhooks'),
  ),
  at(
    '/webhooks/$id',
    lazyRouteComponent(() => import('./screens/webhook.tsx'), 'WebhookScreen'),
  ),
  at('/messages', lazyRouteComponent(messageTemplates, 'Templates')),
  at(
    '/messages/channel',
    lazyRouteComponent(() => import('./screens/messages/channel.tsx'), 'ChannelScreen'),
  ),
  at('/messages/push', lazyRouteComponent(messageTemplates, 'PushTemplates')),
  at(
    '/messages/push-channels',
    lazyRouteComponent(() => import('./screens/messages/push-channels.tsx'), 'PushChannels'),
  ),
  at('/messages/push/$kind/$locale', lazyRouteComponent(messageTemplate, 'PushTemplateScreen')),
  at(
    '/messages/log',
    lazyRouteComponent(() => import('./screens/messages/log.tsx'), 'MessageLog'),
  ),
  at('/messages/$kind/$locale', lazyRouteComponent(messageTemplate, 'TemplateScreen')),
  at(
    '/keys',
    lazyRouteComponent(() => import('./screens/keys.tsx'), 'Keys'),
  ),
  at(
    '/quarantine',
    lazyRouteComponent(() => import('./screens/quarantine.tsx'), 'Quarantine'),
  ),
  at(
    '/recomputations',
    lazyRouteComponent(() => import('./screens/recomputation/recomputations.tsx'), 'Recomputations'),
  ),
  at(
    '/recomputations/$id',
    lazyRouteComponent(() => import('./screens/recomputation/recomputation.tsx'), 'RecomputationScreen'),
  ),
  at(
    '/jobs',
    lazyRouteComponent(() => import('./screens/jobs.tsx'), 'Jobs'),
  ),
  at(
    '/audit-log',
    lazyRouteComponent(() => import('./screens/audit-log.tsx'), 'AuditLog'),
  ),
  at(
    '/configuration',
    lazyRouteComponent(() => import('./screens/configuration.tsx'), 'Configuration'),
  ),
  at(
    '/tenants',
    lazyRouteComponent(() => import('./screens/tenants.tsx'), 'Tenants'),
  ),
  at(
    '/organisation',
    lazyRouteComponent(() => import('./screens/organisation.tsx'), 'Organisation'),
  ),
  at(
    '/requests',
    lazyRouteComponent(() => import('./screens/requests.tsx'), 'Requests'),
  ),
  at(
    '/import',
    lazyRouteComponent(() => import('./screens/import.tsx'), 'Import'),
  ),
  at(
    '/system',
    lazyRouteComponent(() => import('./screens/system/system.tsx'), 'System'),
  ),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: '/console',
  defaultPreload: 'intent',
  // Another user, webhook or leaderboard is another screen: it must not begin with the data of the one before.
  defaultRemountDeps: ({ params }) => params,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
