import { useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import type { paths } from '../../generated/admin.ts';
import { answer } from './answer.ts';
import { admin } from './client.ts';
import { useTimers } from './use-timers.ts';

type Request = NonNullable<paths['/v1/live/tickets']['post']['requestBody']>['content']['application/json'];
export type LiveType = NonNullable<Request['types']>[number];

/** Messages after which a user's data is read again. */
const OF_USER: readonly LiveType[] = [
  'event',
  'achievement.completed',
  'streak.started',
  'streak.extended',
  'streak.lost',
  'streak.freeze_consumed',
  'streak.freeze_earned',
  'points.changed',
  'points.level_changed',
  'points.spent',
  'points.refunded',
  'reward.claimed',
  'reward.fulfilled',
  'reward.cancelled',
  'leaderboard.rank_changed',
  'leaderboard.rewarded',
  'leaderboard.tier_changed',
  'user.merged',
];
/** Messages within this time cause one read. */
const TOGETHER_MS = 250;
const AGAIN_MS = 5_000;

/**
 * Receives live messages while the page is visible: `onMessage` gets each message of the types, `reset` reports a gap.
 * There is a gap at first, too, because the page may have read its data before the stream began.
 * Reconnects when the stream ends or is refused.
 */
export function useLive(
  { userId, types }: { userId?: string; types: readonly LiveType[] },
  onMessage: (type: LiveType | 'reset', data: string) => void,
): void {
  const hear = useEffectEvent(onMessage);
  useEffect(() => {
    let stream: EventSource | null = null;
    let opening: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const openLater = (): void => {
      if (!isOver) opening = setTimeout(() => void open(), AGAIN_MS);
    };
    const open = async (): Promise<void> => {
      const body = { ...(userId !== undefined && { userId }), types: [...types] };
      const made = await answer(admin.POST('/v1/live/tickets', { body })).catch(() => null);
      if (isOver) return;
      if (made === null) return openLater();
      stream = new EventSource(`/v1/live?ticket=${encodeURIComponent(made.ticket)}`);
      for (const type of [...types, 'reset' as const])
        stream.addEventListener(type, ({ data }: MessageEvent<string>) => hear(type, data));
      stream.addEventListener('ready', ({ data }: MessageEvent<string>) => {
        if (!(JSON.parse(data) as { resumed: boolean }).resumed) hear('reset', data);
      });
      // The browser reconnects by itself, unless the stream was refused.
      stream.addEventListener('error', () => {
        if (stream?.readyState === EventSource.CLOSED) openLater();
      });
    };
    void open();
    return () => {
      isOver = true;
      clearTimeout(opening);
      stream?.close();
    };
  }, [userId, types]);
}

/** Returns a function that reads a query again, at most once in that many ms. */
export function useReadAgain(queryKey: QueryKey, withinMs = TOGETHER_MS): () => void {
  const queries = useQueryClient();
  const key = JSON.stringify(queryKey);
  const timers = useTimers();
  return () => timers.once(key, withinMs, () => void queries.invalidateQueries({ queryKey }));
}

/** Reads a user's data again within a second of a live message about the user, while the page is visible. */
export function useLiveUser(id: string): void {
  const readAgain = useReadAgain(['user', id]);
  useLive({ userId: id, types: OF_USER }, readAgain);
}
