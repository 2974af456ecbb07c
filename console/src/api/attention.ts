import { queryOptions, useQuery } from '@tanstack/react-query';
import { moment } from '../ui/format.ts';
import { answer } from './answer.ts';
import { admin } from './client.ts';
import { readinessQuery } from './metrics.ts';
import type { AdminRead } from './queries.ts';

type Item = AdminRead<'/v1/attention'>[number];

/** Something that an administrator should look at: the server's words, and how urgent it is. */
export interface Concern extends Pick<Item, 'text' | 'advice' | 'screen' | 'urgent'> {
  /** For the badge. */
  count: number;
}

const READ_MS = 30_000;

export const attentionQuery = queryOptions({
  queryKey: ['attention'],
  refetchInterval: READ_MS,
  queryFn: () => answer(admin.GET('/v1/attention')),
});

/** Kinds whose `count` is no number of things that somebody looks at. */
const COUNTED_ONCE: readonly Item['kind'][] = ['memory_full', 'disk_full', 'backlog_full', 'storing_late'];

/** Items about a webhook or channel count once, regardless of the number of waiting messages. */
const concernOf = ({ kind, count, webhook, channel, since, ...item }: Item): Concern => ({
  ...item,
  count: webhook === null && channel === null && !COUNTED_ONCE.includes(kind) ? count : 1,
  advice: [item.advice, since && `since ${moment(since)}`].filter(Boolean).join(' · '),
});

const UNREADY = { screen: '/system', count: 1 };

/** What needs attention, the most urgent first. Empty while nothing does, and until it is known. */
export function useAttention(): readonly Concern[] {
  const items = useQuery(attentionQuery).data ?? [];
  const ready = useQuery({ ...readinessQuery, refetchInterval: READ_MS }).data;
  const concerns = items.map(concernOf);
  if (ready === undefined) return concerns;
  const { isReady, text } = ready;
  const isBacklogKnown = items.some(({ kind }) => kind === 'backlog_full');
  // Nothing is accepted then, and the item says so.
  const isMemoryKnown = items.some(({ kind }) => kind === 'memory_full');
  const degraded = ready.degraded.filter((name) => name !== 'Redis memory' || !isMemoryKnown);
  return [
    ...(isReady || isBacklogKnown ? [] : [{ ...UNREADY, text, advice: 'requests are refused', urgent: true }]),
    ...concerns.filter(({ urgent }) => urgent),
    ...(degraded.length === 0
      ? []
      : [{ ...UNREADY, text: `Degraded: ${degraded.join(', ')}`, advice: 'events are accepted', urgent: false }]),
    ...concerns.filter(({ urgent }) => !urgent),
  ];
}

/** A badge of the navigation. */
export interface ScreenBadge {
  count: number;
  /** For screen readers: `3 dead letters`. */
  meaning: string;
  isUrgent: boolean;
}

/** The badges of screens, by their links in the navigation. */
export function badgesOf(concerns: readonly Concern[]): ReadonlyMap<string, ScreenBadge> {
  const badges = new Map<string, ScreenBadge>();
  for (const { screen, count, text, urgent } of concerns) {
    const link = `/${screen.split('/')[1]}`;
    const known = badges.get(link);
    badges.set(link, {
      count: (known?.count ?? 0) + count,
      meaning: known === undefined ? text : `${known.meaning}; ${text}`,
      isUrgent: urgent || known?.isUrgent === true,
    });
  }
  return badges;
}
