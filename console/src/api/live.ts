import { useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import type { paths } from '../../generated/admin.ts';
import { answer } from './answer.ts';
import { admin } from './client.ts';
import { useTimers } from './use-timers.ts';

type Request = NonNullable<paths['/v1/live/tickets']['post']['requestBody']>['content']['application/json'];
export type LiveType = NonNullable<Request['types']>[number];

/** What changes something that is shown of a user. */
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
  'leaderboard.rank_changed',
];
/** What comes within this is one reason to read again. */
const TOGETHER_MS = 250;
const AGAIN_MS = 5_000;

/**
 * Hears of what happens, as long as the screen is looked at: `onMessage` gets each message of one of the types, and `reset` where
 * some were missed. A stream that is refused or ends is asked for again.
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
      // The browser opens it again by itself, unless it was refused.
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

/** A function that has something read again: at most once in so many ms, however often it is called. */
export function useReadAgain(queryKey: QueryKey, withinMs = TOGETHER_MS): () => void {
  const queries = useQueryClient();
  const key = JSON.stringify(queryKey);
  const timers = useTimers();
  return () => timers.once(key, withinMs, () => void queries.invalidateQueries({ queryKey }));
}

/** Reads what is shown of a user again when something happens to them, within a second, as long as the screen is looked at. */
export function useLiveUser(id: string): void {
  const readAgain = useReadAgain(['user', id]);
  useLive({ userId: id, types: OF_USER }, readAgain);
}
