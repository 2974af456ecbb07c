import { useQuery } from '@tanstack/react-query';
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

/** Every configured resource. Reads nothing unless it is `enabled`. */
export function useResources(isEnabled: boolean): (Entry & { id: string })[] {
  const enabled = { enabled: isEnabled };
  const metrics = useQuery({ ...metricsQuery, ...enabled }).data ?? [];
  const attributes = useQuery({ ...attributesQuery, ...enabled }).data ?? [];
  const achievements = useQuery({ ...achievementsQuery, ...enabled }).data ?? [];
  const systems = useQuery({ ...pointsQuery, ...enabled }).data ?? [];
  const boards = useQuery({ ...leaderboardsQuery, ...enabled }).data ?? [];
  const rewards = useQuery({ ...rewardsQuery, ...enabled }).data ?? [];
  const webhooks = useQuery({ ...webhooksQuery, ...enabled }).data ?? [];
  return [
    ...metrics.map(({ id, name, key }) => ({
      id,
      kind: 'Metric',
      text: name,
      key,
      link: { to: '/metrics', hash: `edit-${id}` } as const,
    })),
    ...attributes.map(({ id, name, key }) => ({
      id,
      kind: 'Attribute',
      text: name,
      key,
      link: { to: '/attributes', hash: `edit-${id}` } as const,
    })),
    ...achievements.map(({ id, name, key }) => ({
      id,
      kind: 'Achievement',
      text: name,
      key,
      link: { to: '/achievements', hash: `edit-${id}` } as const,
    })),
    ...systems.map(({ id, name, key }) => ({
      id,
      kind: 'Points system',
      text: name,
      key,
      link: { to: '/points/$id', params: { id } } as const,
    })),
    ...boards.map(({ id, name, key }) => ({
      id,
      kind: 'Leaderboard',
      text: name,
      key,
      link: { to: '/leaderboards/$key', params: { key } } as const,
    })),
    ...rewards.map(({ id, name, key }) => ({
      id,
      kind: 'Reward',
      text: name,
      key,
      link: { to: '/rewards', hash: `edit-${id}` } as const,
    })),
    ...webhooks.map(({ id, name, url }) => ({
      id,
      kind: 'Webhook',
      text: name,
      key: url,
      link: { to: '/webhooks/$id', params: { id } } as const,
    })),
  ];
}
