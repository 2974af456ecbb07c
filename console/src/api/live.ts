import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { paths } from '../../generated/admin.ts';
import { answer } from './answer.ts';
import { admin } from './client.ts';

type Request = paths['/v1/live/tickets']['post']['requestBody']['content']['application/json'];
type LiveType = NonNullable<Request['types']>[number];

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

/** Reads what is shown of a user again when something happens to them, within a second, as long as the screen is looked at. */
export function useLiveUser(id: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    let stream: EventSource | null = null;
    let reading: ReturnType<typeof setTimeout> | undefined;
    let opening: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const readAgain = (): void => {
      reading ??= setTimeout(() => {
        reading = undefined;
        void queries.invalidateQueries({ queryKey: ['user', id] });
      }, TOGETHER_MS);
    };
    const openLater = (): void => {
      if (!isOver) opening = setTimeout(() => void open(), AGAIN_MS);
    };
    const open = async (): Promise<void> => {
      const body = { userId: id, types: [...OF_USER] };
      const made = await answer(admin.POST('/v1/live/tickets', { body })).catch(() => null);
      if (isOver) return;
      if (made === null) return openLater();
      stream = new EventSource(`/v1/live?ticket=${encodeURIComponent(made.ticket)}`);
      for (const type of [...OF_USER, 'reset']) stream.addEventListener(type, readAgain);
      // The browser opens it again by itself, unless it was refused.
      stream.addEventListener('error', () => {
        if (stream?.readyState === EventSource.CLOSED) openLater();
      });
    };
    void open();
    return () => {
      isOver = true;
      clearTimeout(reading);
      clearTimeout(opening);
      stream?.close();
    };
  }, [id, queries]);
}
