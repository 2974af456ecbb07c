import { useQueries } from '@tanstack/react-query';
import type { LinkProps } from '@tanstack/react-router';
import {
  achievementsQuery,
  attributesQuery,
  leaderboardsQuery,
  metricsQuery,
  pointsQuery,
  rewardsQuery,
  webhooksQuery,
} from './queries.ts';

/** A named target of a link. */
export interface Entry {
  kind: string;
  text: string;
  /** Another name by which it is found. */
  key?: string | undefined;
  link: Pick<LinkProps, 'to' | 'params' | 'search' | 'hash'>;
}

/** The lists of resources, and where each resource is edited or shown. */
const LISTS: readonly { kind: string; query: object; linkOf: (resource: Listed) => Entry['link'] }[] = [
  { kind: 'Metric', query: metricsQuery, linkOf: ({ id }) => ({ to: '/metrics', hash: `edit-${id}` }) },
  { kind: 'Attribute', query: attributesQuery, linkOf: ({ id }) => ({ to: '/attributes', hash: `edit-${id}` }) },
  { kind: 'Achievement', query: achievementsQuery, linkOf: ({ id }) => ({ to: '/achievements', hash: `edit-${id}` }) },
  { kind: 'Points system', query: pointsQuery, linkOf: ({ id }) => ({ to: '/points/$id', params: { id } }) },
  {
    kind: 'Leaderboard',
    query: leaderboardsQuery,
    linkOf: ({ key }) => ({ to: '/leaderboards/$key', params: { key: key! } }),
  },
  { kind: 'Reward', query: rewardsQuery, linkOf: ({ id }) => ({ to: '/rewards', hash: `edit-${id}` }) },
  { kind: 'Webhook', query: webhooksQuery, linkOf: ({ id }) => ({ to: '/webhooks/$id', params: { id } }) },
];

interface Listed {
  id: string;
  name: string;
  key?: string;
  url?: string;
}

/** Every configured resource. Reads nothing unless it is `enabled`. */
export function useResources(enabled: boolean): (Entry & { id: string })[] {
  const lists = useQueries({ queries: LISTS.map(({ query }) => ({ ...(query as typeof metricsQuery), enabled })) });
  return LISTS.flatMap(({ kind, linkOf }, index) =>
    ((lists[index]!.data ?? []) as readonly Listed[]).map((resource) => {
      const { id, name, key, url } = resource;
      return { id, kind, text: name, key: key ?? url, link: linkOf(resource) };
    }),
  );
}
