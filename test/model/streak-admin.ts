import type { Catalog } from '../../src/domain/catalog.ts';
import { addDays, latest, periodBefore, periodOf, type LocalDate } from './calendar.ts';
import { lastDayOf, type Frequency } from './calendar.ts';
import type { Streaks } from './streak.ts';
import type { ModelUser } from './user.ts';

/** Administrators' changes to a user's streaks. Each returns whether it was done; `today` is the user's local date. */

export function giveFreeze(streaks: Streaks, { streaks: { freezes } }: Catalog): boolean {
  if (!freezes.enabled || streaks.freezes >= freezes.max) return false;
  streaks.freezes += 1;
  return true;
}

/** Pauses from one day to another, both inclusive. */
export function pause(streaks: Streaks, pause: { start: LocalDate; end: LocalDate }, today: LocalDate): boolean {
  const { start, end } = pause;
  if (start < today || end < start) return false;
  if (streaks.pauses.some((other) => start <= other.end && other.start <= end)) return false;
  streaks.pauses.push({ ...pause });
  return true;
}

/** Ends a pause: past days stay paused. */
export function unpause(streaks: Streaks, pause: { start: LocalDate; end: LocalDate }, today: LocalDate): void {
  const yesterday = addDays(today, -1);
  if (pause.end > yesterday) pause.end = yesterday;
  streaks.pauses = streaks.pauses.filter(({ start, end }) => start <= end);
}

/** Ends the streaks. Events of a met period are used up: a streak that begins in it needs more; freezes stay. */
export function reset({ streaks, events }: ModelUser, { today, atMs }: Now, { streaks: settings }: Catalog): boolean {
  const { tracks, kept, lost, resets, usedUp } = streaks;
  if (tracks[settings.frequency].length === 0) return false;
  for (const frequency of Object.keys(tracks) as Frequency[]) {
    const track = tracks[frequency];
    if (track.length === 0) continue;
    const current = periodOf(today, frequency, settings.weekStart);
    lost.push({ frequency, length: track.length, started: track.started!, last: lastDayOf(track.kept, frequency) });
    resets[frequency].set(current, atMs);
    const isMet = track.kept >= current;
    if (isMet) usedUp[frequency] = events.length;
    if (isMet) kept[frequency].delete(track.kept);
    tracks[frequency] = {
      length: 0,
      started: null,
      kept: isMet ? periodBefore(current, frequency) : track.kept,
      extendedMs: track.extendedMs,
    };
  }
  return true;
}

interface Now {
  today: LocalDate;
  atMs: number;
}

/** Restores the longest streak lost in the window, if it is longer than the present one. */
export function restore(streaks: Streaks, today: LocalDate, { streaks: settings }: Catalog): boolean {
  const { frequency, weekStart } = settings;
  const since = windowStart(today, { frequency, weekStart });
  const best = streaks.lost
    .filter((lost) => lost.frequency === frequency && lost.last >= since)
    .reduce((longest, lost) => (lost.length >= longest.length ? lost : longest), { length: 0, started: '', last: '' });
  const track = streaks.tracks[frequency];
  if (best.length <= track.length) return false;
  const current = periodOf(today, frequency, weekStart);
  const before = periodBefore(current, frequency);
  const { length, started } = best;
  // A reset streak may have met the current period already.
  const had = best.last >= current;
  if (had && track.kept < current) streaks.kept[frequency].set(current, { length, by: 'met' });
  streaks.tracks[frequency] = { ...track, length, started, kept: latest(track.kept, had ? current : before) };
  // The current period may already be met.
  const met = streaks.kept[frequency].get(track.kept);
  if (track.kept > before && met !== undefined) met.length = length;
  return true;
}

function windowStart(
  today: LocalDate,
  { frequency, weekStart }: Pick<Catalog['streaks'], 'frequency' | 'weekStart'>,
): LocalDate {
  const year = Number(today.slice(0, 4));
  switch (frequency) {
    case 'daily':
      return addDays(today, -90);
    case 'weekly':
      return periodOf(`${year}-01-01`, 'weekly', weekStart);
    case 'monthly':
      return `${year - 1}-01-01`;
  }
}
