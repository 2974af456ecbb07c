import { useCallback, useEffect, useState } from 'react';
import { useLive, useReadAgain, type LiveType } from './live.ts';

const TYPES: readonly LiveType[] = ['event', 'achievement.completed'];
/** The rate is that of the last seconds. */
const WINDOW_MS = 5_000;
const TICK_MS = 500;
const SHOWN = 10;
/** Shortest interval between two reads of the daily counts. */
const COUNTS_MS = 2_000;

/** An event as live streams report it. */
export interface FeedEvent {
  id: string;
  userId: string;
  metricKey: string;
  value: number;
  at: string;
}

/** The live feed of the tenant: events per second and the newest events. Also refreshes the other data on the screen. */
export function useFeed(): { perSecond: number; events: readonly FeedEvent[] } {
  const [counted] = useState<{ atMs: number; events: number }[]>(() => []);
  const [events, setEvents] = useState<readonly FeedEvent[]>([]);
  const [perSecond, setPerSecond] = useState(0);
  const readDays = useReadAgain(['activity', 'days'], COUNTS_MS);
  const readCompletions = useReadAgain(['activity', 'completions']);
  const readHolders = useReadAgain(['rarities'], COUNTS_MS);
  const measure = useCallback((): void => {
    const fromMs = performance.now() - WINDOW_MS;
    while (counted.length > 0 && counted[0]!.atMs < fromMs) counted.shift();
    setPerSecond(counted.reduce((sum, one) => sum + one.events, 0) / (WINDOW_MS / 1_000));
  }, [counted]);
  useLive({ types: TYPES }, (type, data) => {
    readDays();
    if (type !== 'event') {
      readHolders();
      return readCompletions();
    }
    const { event, skipped } = JSON.parse(data) as { event: FeedEvent; skipped: number };
    counted.push({ atMs: performance.now(), events: 1 + skipped });
    setEvents((before) => [event, ...before].slice(0, SHOWN));
    measure();
  });
  useEffect(() => {
    const timer = setInterval(measure, TICK_MS);
    return () => clearInterval(timer);
  }, [measure]);
  return { perSecond, events };
}
