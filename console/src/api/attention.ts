// oxlint-disable-next-line no-restricted-imports -- a number that the API does not send
import { MOST_COUNTED } from '../../../src/domain/administration/most-counted.ts';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { ago, counted, moment, number } from '../ui/format.ts';
import { answer } from './answer.ts';
import { admin } from './client.ts';
import { readinessQuery } from './metrics.ts';
import type { AdminRead } from './queries.ts';

type Item = AdminRead<'/v1/attention'>[number];

/** Something that an administrator should look at. */
export interface Concern {
  /** The screen that shows it, by its link in the navigation. */
  screen: '/webhooks' | '/messages' | '/quarantine' | '/jobs' | '/system';
  /** The webhook concerned. */
  webhookId: string | null;
  /** The problem, with its size: `3 dead letters`. */
  text: string;
  detail: string;
  /** For the badge. */
  count: number;
  isUrgent: boolean;
}

const READ_MS = 30_000;

export const attentionQuery = queryOptions({
  queryKey: ['attention'],
  refetchInterval: READ_MS,
  queryFn: () => answer(admin.GET('/v1/attention')),
});

/** `1 event`, `10,000 events or more`. */
const upTo = (count: number, one: string): string =>
  `${counted(count, one)}${count === MOST_COUNTED ? ' or more' : ''}`;

const pending = (count: number): string[] => (count === 0 ? [] : [upTo(count, 'pending message')]);

const sentence = (...facts: readonly string[]): string => facts.join(' · ');

type WebhookKind = Extract<Item['kind'], `webhook_${string}`>;

const WEBHOOKS: Readonly<
  Record<WebhookKind, { text: (name: string) => string; detail: (item: Item) => string; isUrgent: boolean }>
> = {
  webhook_disabled: {
    text: (name) => `Laurel disabled the webhook ${name}`,
    detail: ({ reason, since, count }) => sentence(reason ?? '', ago(since), ...pending(count)),
    isUrgent: true,
  },
  webhook_full: {
    text: (name) => `The queue of the webhook ${name} is full`,
    detail: ({ count }) => sentence(...pending(count), 'further messages are not sent'),
    isUrgent: true,
  },
  webhook_failing: {
    text: (name) => `The webhook ${name} keeps failing`,
    detail: ({ since, count }) => sentence(`since ${moment(since)}`, ...pending(count)),
    isUrgent: false,
  },
  webhook_late: {
    text: (name) => `Messages of the webhook ${name} are late`,
    detail: ({ since, count }) => sentence(...pending(count), `the oldest is from ${ago(since)}`),
    isUrgent: false,
  },
};

const isOfWebhook = (kind: Item['kind']): kind is WebhookKind => kind in WEBHOOKS;

function concernOf(item: Item): Concern {
  const { kind, count, webhook } = item;
  if (isOfWebhook(kind)) {
    const { text, detail, isUrgent } = WEBHOOKS[kind];
    const name = webhook?.name ?? '';
    return {
      screen: '/webhooks',
      webhookId: webhook?.id ?? null,
      text: text(name),
      detail: detail(item),
      count: 1,
      isUrgent,
    };
  }
  const rest = { webhookId: null, count };
  switch (kind) {
    case 'backlog_full':
      return {
        ...rest,
        screen: '/system',
        text: 'The backlog is full: events are refused',
        detail: `${number(count)} outbox entries wait for Postgres`,
        count: 1,
        isUrgent: true,
      };
    case 'channel_failing':
      return {
        ...rest,
        screen: '/messages',
        text: `Messages by ${item.channel!.replace('_', ' ')} fail`,
        detail: sentence(ago(item.since), item.reason ?? ''),
        count: 1,
        isUrgent: false,
      };
    case 'dead_letters':
      return {
        ...rest,
        screen: '/system',
        text: counted(count, 'dead letter'),
        detail: 'not stored completely; retry or drop',
        isUrgent: true,
      };
    case 'jobs_failing':
      return {
        ...rest,
        screen: '/jobs',
        text: `${counted(count, 'job')} failed`,
        detail: 'within 7 days, or 3 times in a row and counting',
        isUrgent: false,
      };
    case 'quarantine':
      return {
        ...rest,
        screen: '/quarantine',
        text: `${upTo(count, 'event')} in quarantine`,
        detail: 'held back by guards; release or drop',
        isUrgent: false,
      };
  }
}

const UNREADY: Pick<Concern, 'screen' | 'webhookId' | 'count'> = { screen: '/system', webhookId: null, count: 1 };

/** What needs attention, the most urgent first. Empty while nothing does, and until it is known. */
export function useAttention(): readonly Concern[] {
  const items = useQuery(attentionQuery).data ?? [];
  const ready = useQuery({ ...readinessQuery, refetchInterval: READ_MS }).data;
  const concerns = items.map(concernOf);
  if (ready === undefined) return concerns;
  const { isReady, text, degraded } = ready;
  const isBacklogKnown = items.some(({ kind }) => kind === 'backlog_full');
  return [
    ...(isReady || isBacklogKnown ? [] : [{ ...UNREADY, text, detail: 'requests are refused', isUrgent: true }]),
    ...concerns.filter(({ isUrgent }) => isUrgent),
    ...(degraded.length === 0
      ? []
      : [{ ...UNREADY, text: `Degraded: ${degraded.join(', ')}`, detail: 'events are accepted', isUrgent: false }]),
    ...concerns.filter(({ isUrgent }) => !isUrgent),
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
  for (const { screen, count, text, isUrgent } of concerns) {
    const known = badges.get(screen);
    badges.set(screen, {
      count: (known?.count ?? 0) + count,
      meaning: known === undefined ? text : `${known.meaning}; ${text}`,
      isUrgent: isUrgent || known?.isUrgent === true,
    });
  }
  return badges;
}
