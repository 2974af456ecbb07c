import type { Catalog } from '../../src/domain/catalog.ts';
import type { ModelUser } from './user.ts';
import { addTo } from '../../src/grouped.ts';

const UNIT_MS = { hours: 3_600_000, days: 24 * 3_600_000 } as const;

/**
 * The moments at which periods of active `time` triggers end for a user, in order, with the triggers' IDs: every so many
 * hours or days since the user was first seen, after the trigger was activated.
 */
export function endedPeriods(
  { triggers }: Catalog,
  { streaks: { firstMs } }: ModelUser,
  { afterMs, toMs }: { afterMs: number; toMs: number },
): [atMs: number, triggerIds: string[]][] {
  const ended = new Map<number, string[]>();
  for (const { type, status, id, activated, timeUnit, timeInterval } of triggers) {
    if (type !== 'time' || status !== 'active') continue;
    const periodMs = timeInterval! * UNIT_MS[timeUnit!];
    for (let atMs = firstMs + periodMs; atMs <= toMs; atMs += periodMs)
      if (atMs > Math.max(afterMs, activated!)) addTo(ended, atMs, id);
  }
  return [...ended].toSorted(([a], [b]) => a - b);
}
