import { useQuery } from '@tanstack/react-query';
import type { Named } from '../rule-text.ts';
import { achievementsQuery, attributesQuery, leaderboardsQuery, metricsQuery, pointsQuery } from './queries.ts';

/** Resources named in the sentences of rules. */
export function useNamed(): Named {
  return {
    metrics: useQuery(metricsQuery).data,
    achievements: useQuery(achievementsQuery).data,
    attributes: useQuery(attributesQuery).data,
    systems: useQuery(pointsQuery).data,
    leaderboards: useQuery(leaderboardsQuery).data,
  };
}
