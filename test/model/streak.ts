import type { Catalog } from '../../src/domain/catalog.ts';
import {
  addDays,
  daysBetween,
  lastDayOf,
  latest,
  midnight,
  periodBefore,
  periodOf,
  wall,
  weekday,
  type Frequency,
  type LocalDate,
} from './calendar.ts';
import { micros, sum } from './decimals.ts';
import type { ModelUser, RecordedEvent } from './user.ts';

/** A streak in one frequency. A period is named by its first day. */
export interface StreakTrack {
  length: number;
  /** First day of the first period. */
  started: LocalDate | null;
  /** The last period that was met, frozen or paused. */
  kept: LocalDate;
  extendedMs: number | null;
}

interface Kept {
  length: number;
  by: 'met' | 'freeze' | 'pause' | 'off';
}

/** A user's streaks, advanced day by day to the last day that began for the user. Days do not begin twice. */
export interface Streaks {
  day: LocalDate;
  tracks: Record<Frequency, StreakTrack>;
  /** The met or excused periods, and the length in each. */
  kept: Record<Frequency, Map<LocalDate, Kept>>;
  freezes: number;
  /** When the user was first seen, and the day. */
  firstMs: number;
  first: LocalDate;
  /** The day from which the next freeze is earned; null: none could be earned yet. */
  earnsFrom: LocalDate | null;
  pauses: { start: LocalDate; end: LocalDate }[];
  /** Ended streaks, with the last day of their last period; oldest first. */
  lost: { frequency: Frequency; length: number; started: LocalDate; last: LocalDate }[];
  /** When the streak was reset last in a period. */
  resets: Record<Frequency, Map<LocalDate, number>>;
  /** The number of the user's first events that reset streaks have used up. */
  usedUp: Record<Frequency, number>;
  /** The days whose beginning changed something since the last evaluation, with the lengths on them; oldest first. */
  unseen: { on: LocalDate; lengths: Record<Frequency, number> }[];
}

const NONE: StreakTrack = { length: 0, started: null, kept: '0001-01-01', extendedMs: null };
const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;

export function firstStreaks({ streaks: { freezes } }: Catalog, firstMs: number, first: LocalDate): Streaks {
  const tracks = { daily: NONE, weekly: NONE, monthly: NONE };
  const kept = { daily: new Map(), weekly: new Map(), monthly: new Map() };
  const initial = freezes.enabled ? freezes.initial : 0;
  return {
    day: first,
    tracks,
    kept,
    freezes: initial,
    firstMs,
    first,
    earnsFrom: null,
    pauses: [],
    lost: [],
    resets: { daily: new Map(), weekly: new Map(), monthly: new Map() },
    usedUp: { daily: 0, weekly: 0, monthly: 0 },
    unseen: [],
  };
}

/** Passes midnight after midnight until it is `today`. */
export function bringTo(user: ModelUser, today: LocalDate, catalog: Catalog): void {
  const { streaks } = user;
  while (streaks.day < today) {
    const changed = FREQUENCIES.map((frequency) => atMidnight(user, frequency, catalog));
    streaks.day = addDays(streaks.day, 1);
    changed.push(earn(user, streaks.day, catalog));
    if (!changed.includes(true)) continue;
    const { daily, weekly, monthly } = streaks.tracks;
    const lengths = { daily: daily.length, weekly: weekly.length, monthly: monthly.length };
    streaks.unseen.push({ on: streaks.day, lengths });
  }
  earn(user, today, catalog);
}

/**
 * Ends `streaks.day`: a living streak whose period ends unmet may be kept by a day off, a pause or a freeze. Returns whether
 * it had a visible effect.
 */
function atMidnight(user: ModelUser, frequency: Frequency, catalog: Catalog): boolean {
  const { streaks } = user;
  const { streaks: settings } = catalog;
  const { day, tracks, pauses } = streaks;
  const track = tracks[frequency];
  const period = periodOf(day, frequency, settings.weekStart);
  if (track.length === 0 || track.kept >= period || day !== lastDayOf(period, frequency)) return false;
  if (frequency === 'daily' && isDayOff(user, day, catalog)) {
    tracks.daily = { ...track, kept: day };
    streaks.kept.daily.set(day, { length: track.length, by: 'off' });
    return false;
  }
  const paused = daysOf(period, day).every((one) => pauses.some(({ start, end }) => start <= one && one <= end));
  const frozen = !paused && frequency === settings.frequency && settings.freezes.enabled && streaks.freezes > 0;
  if (frozen) streaks.freezes -= 1;
  tracks[frequency] =
    paused || frozen ? { ...track, kept: period } : { ...NONE, kept: track.kept, extendedMs: track.extendedMs };
  if (paused || frozen) {
    streaks.kept[frequency].set(period, { length: track.length, by: paused ? 'pause' : 'freeze' });
  } else {
    const { length, started, kept } = track;
    const last = lastDayOf(kept, frequency);
    streaks.lost.push({ frequency, length, started: started!, last });
  }
  return true;
}

/** Whether a day needs no event: by the settings, and the user's preferences, at its beginning. */
export function isDayOff({ daysOff: own, tz }: ModelUser, day: LocalDate, catalog: Catalog): boolean {
  const begun = midnight(day, tz);
  const settings = catalog.streaksBefore?.find(({ untilMs }) => begun <= untilMs)?.streaks ?? catalog.streaks;
  if (settings.frequency !== 'daily') return false;
  const preferred = settings.personalization && own !== null ? (day >= own.from ? own.days : own.before) : null;
  return (preferred ?? settings.daysOff).includes(weekday(day));
}

function daysOf(first: LocalDate, last: LocalDate): LocalDate[] {
  return first > last ? [] : [first, ...daysOf(addDays(first, 1), last)];
}

/**
 * Earns freezes on a day: every so many days from the first, or, for an older user, from the local day of the setting.
 * Returns whether there are more.
 */
function earn({ streaks, tz }: ModelUser, day: LocalDate, { streaks: { freezes }, earnSince = 0 }: Catalog): boolean {
  const { enabled, max, autoEarnInterval: interval, autoEarnAmount } = freezes;
  if (!enabled || interval === null || autoEarnAmount === null) return false;
  const before = streaks.freezes;
  const isOlder = streaks.firstMs < earnSince;
  const since = isOlder ? wall(earnSince, tz).date : streaks.first;
  let from = latest(streaks.earnsFrom ?? since, since);
  for (; daysBetween(from, day) >= interval; from = addDays(from, interval)) {
    streaks.freezes = Math.max(streaks.freezes, Math.min(max, streaks.freezes + autoEarnAmount));
  }
  streaks.earnsFrom = from;
  return streaks.freezes > before;
}

/** The rule of a user's streaks: the common rule with the user's preferences. Switching them off is always allowed. */
const ruleOf = ({ prefers }: ModelUser, { streaks }: Catalog): Catalog['streaks'] => ({
  ...streaks,
  ...(streaks.personalization && prefers),
  enabled: streaks.enabled && prefers.enabled !== false,
});

/** The periods that an event counts for: those of its day, but none before those of the user's last event. */
export function countsFor(date: LocalDate, user: ModelUser, catalog: Catalog): RecordedEvent['counts'] {
  const streaks = ruleOf(user, catalog);
  if (!streaks.enabled) return null;
  const before = user.events.findLast(({ counts }) => counts !== null)?.counts;
  const of = (frequency: Frequency): LocalDate =>
    latest(periodOf(date, frequency, streaks.weekStart), before?.[frequency] ?? '');
  return { daily: of('daily'), weekly: of('weekly'), monthly: of('monthly') };
}

/** Counts the user's last event; returns the frequencies whose streak it extended. */
export function extend(user: ModelUser, catalog: Catalog, atMs: number): Frequency[] {
  const { tracks, kept } = user.streaks;
  const { date, counts } = user.events.at(-1)!;
  if (counts === null) return [];
  const { weekStart } = catalog.streaks;
  const extended: Frequency[] = [];
  for (const frequency of FREQUENCIES) {
    const track = tracks[frequency];
    const period = counts[frequency];
    if (track.kept >= period || !isMet(user, catalog, { frequency, period })) continue;
    const length = track.length + 1;
    kept[frequency].set(period, { length, by: 'met' });
    tracks[frequency] = {
      length,
      started: track.started ?? periodOf(date, frequency, weekStart),
      kept: period,
      extendedMs: atMs,
    };
    extended.push(frequency);
    // A streak that begins on a day that a journey back brought again has the days from then before it.
    if (frequency === 'daily' && period < user.streaks.day) user.streaks.day = period;
  }
  return extended;
}

/** Whether what the user did in a period suffices. */
function isMet(
  user: ModelUser,
  catalog: Catalog,
  { frequency, period }: { frequency: Frequency; period: LocalDate },
): boolean {
  const streaks = ruleOf(user, catalog);
  const done = user.events.slice(user.streaks.usedUp[frequency]).filter(({ counts }) => counts?.[frequency] === period);
  if (streaks.metrics.length === 0) return done.some(({ amount }) => amount > 0n);
  const reached = streaks.metrics.map(
    ({ metricId, threshold }) =>
      sum(done.filter((event) => event.metricId === metricId).map(({ amount }) => amount)) >= micros(threshold),
  );
  return streaks.evaluationMode === 'AND' ? reached.every(Boolean) : reached.some(Boolean);
}

/**
 * The user's date jumps from today to another day by a change of zone alone. Backward: nothing happens until the date has
 * caught up. Forward: no streak is lost, so a living one continues as if the skipped periods had been kept; and one day does
 * not become two, so what was done today was done on the new day.
 */
export function jump(user: ModelUser, to: LocalDate, catalog: Catalog): void {
  const { streaks } = user;
  const today = streaks.day;
  if (to <= today) return;
  const { daily } = streaks.tracks;
  const moved = addDays(daily.kept, daysBetween(today, to));
  if (daily.length > 0) streaks.tracks.daily = { ...daily, kept: latest(daily.kept, moved < to ? moved : to) };
  for (const { counts } of user.events) if (counts?.daily === today) counts.daily = to;
  for (const frequency of ['weekly', 'monthly'] as const) {
    const track = streaks.tracks[frequency];
    const before = periodBefore(periodOf(to, frequency, catalog.streaks.weekStart), frequency);
    if (track.length > 0) streaks.tracks[frequency] = { ...track, kept: latest(track.kept, before) };
  }
  while (streaks.day < to) {
    streaks.day = addDays(streaks.day, 1);
    earn(user, streaks.day, catalog);
  }
}
