import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { analyticsSearch } from './screens/analytics/search.ts';
import { usersSearch } from './screens/users-search.ts';
import { Frame } from './shell/frame.tsx';
import { NotFound } from './shell/not-found.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
type Component = ReturnType<typeof lazyRouteComponent>;
/** A screen's path, the module that has it, and its name there. */
const at = <P extends string, M extends object>(path: P, load: () => Promise<M>, name: keyof M & string) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load, name) as Component });

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
  at('/', () => import('./screens/overview/overview.tsx'), 'Overview'),
  analytics,
  users,
  at('/users/$id', () => import('./screens/user/user.tsx'), 'UserScreen'),
  at('/metrics', () => import('./screens/metrics.tsx'), 'Metrics'),
  at('/attributes', () => import('./screens/attributes.tsx'), 'Attributes'),
  at('/achievements', () => import('./screens/achievements.tsx'), 'Achievements'),
  at('/points', () => import('./screens/points.tsx'), 'Points'),
  at('/points/$id', () => import('./screens/points-system.tsx'), 'PointsSystemScreen'),
  at('/leaderboards', () => import('./screens/leaderboards.tsx'), 'Leaderboards'),
  at('/leaderboards/$key', () => import('./screens/leaderboard.tsx'), 'LeaderboardScreen'),
  at('/rewards', () => import('./screens/rewards.tsx'), 'Rewards'),
  at('/streaks', () => import('./screens/streaks.tsx'), 'Streaks'),
  at('/webhooks', () => import('./screens/webhooks.tsx'), 'Webhooks'),
  at('/webhooks/$id', () => import('./screens/webhook.tsx'), 'WebhookScreen'),
  at('/messages', messageTemplates, 'Templates'),
  at('/messages/channel', () => import('./screens/messages/channel.tsx'), 'ChannelScreen'),
  at('/messages/push', messageTemplates, 'PushTemplates'),
  at('/messages/push-channels', () => import('./screens/messages/push-channels.tsx'), 'PushChannels'),
  at('/messages/push/$kind/$locale', messageTemplate, 'PushTemplateScreen'),
  at('/messages/log', () => import('./screens/messages/log.tsx'), 'MessageLog'),
  at('/messages/$kind/$locale', messageTemplate, 'TemplateScreen'),
  at('/keys', () => import('./screens/keys.tsx'), 'Keys'),
  at('/quarantine', () => import('./screens/quarantine.tsx'), 'Quarantine'),
  at('/recomputations', () => import('./screens/recomputation/recomputations.tsx'), 'Recomputations'),
  at('/recomputations/$id', () => import('./screens/recomputation/recomputation.tsx'), 'RecomputationScreen'),
  at('/jobs', () => import('./screens/jobs.tsx'), 'Jobs'),
  at('/audit-log', () => import('./screens/audit-log.tsx'), 'AuditLog'),
  at('/configuration', () => import('./screens/configuration.tsx'), 'Configuration'),
  at('/tenants', () => import('./screens/tenants.tsx'), 'Tenants'),
  at('/organisation', () => import('./screens/organisation.tsx'), 'Organisation'),
  at('/requests', () => import('./screens/requests.tsx'), 'Requests'),
  at('/import', () => import('./screens/import.tsx'), 'Import'),
  at('/system', () => import('./screens/system/system.tsx'), 'System'),
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
