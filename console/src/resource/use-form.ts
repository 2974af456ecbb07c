import { useQuery } from '@tanstack/react-query';
import { FORMS } from 'virtual:forms';
// oxlint-disable-next-line no-restricted-imports -- types of what the build includes as data
import type { FormField, FormKind } from '../../../src/domain/fields/form.ts';
import { useToday } from '../api/clock.ts';
import { earliestDay } from '../ui/format.ts';
import { achievementsQuery, attributesQuery, leaderboardsQuery, metricsQuery, pointsQuery } from '../api/queries.ts';
import { byId, type Field } from './field.ts';

/** The form of a kind of resource, in declaration order. `more`: a screen's additions, by field name. */
export function useForm(kind: FormKind, more: Readonly<Record<string, Partial<Field>>> = {}): Field[] {
  const form: readonly FormField[] = FORMS[kind];
  const filters = form.some(({ input }) => input === 'filter');
  const uses = (...wanted: FormField['choices'][]): boolean =>
    form.some(({ choices }) => choices !== undefined && wanted.includes(choices));
  const attributes = useQuery({ ...attributesQuery, enabled: uses('user attribute', 'event attribute') }).data;
  const achievements = useQuery({ ...achievementsQuery, enabled: uses('achievement') }).data;
  const metrics = useQuery({ ...metricsQuery, enabled: filters || uses('metric') }).data;
  const systems = useQuery({ ...pointsQuery, enabled: filters || uses('points system') }).data;
  const leaderboards = useQuery({ ...leaderboardsQuery, enabled: filters || uses('leaderboard') }).data;
  // Reads the clock, and again when it changes.
  useToday();
  const earliest = earliestDay();
  const choices = {
    metric: metrics,
    achievement: achievements,
    'points system': systems,
    leaderboard: leaderboards,
    'user attribute': attributes?.filter(({ type }) => type === 'user'),
    'event attribute': attributes?.filter(({ type }) => type === 'event'),
  };
  const lists = [
    { name: 'metricIds', label: 'Achievements of these metrics', options: byId(metrics) },
    { name: 'leaderboardIds', label: 'Leaderboards', options: byId(leaderboards) },
    { name: 'pointsSystemIds', label: 'Points systems', options: byId(systems) },
  ];
  return form.map(({ choices: of, ...field }) => ({
    ...field,
    ...(of !== undefined && { options: byId(choices[of]) }),
    ...(field.input === 'filter' && { lists }),
    ...(field.input === 'day' && field.initial === 'today' && { initial: earliest }),
    ...more[field.name],
  }));
}
