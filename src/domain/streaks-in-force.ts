import type { Catalog, EarlierStreaks, StreakSettings, StreaksInForce } from './catalog.ts';
import { DAY_MS } from './periods.ts';

/** The settings by which a midnight (epoch ms) goes, and until when they held; Infinity for today's. */
export const streaksAt = (catalog: Catalog, midnightMs: number): StreaksInForce & { untilMs: number } =>
  catalog.streaksBefore?.find(({ untilMs }) => midnightMs <= untilMs) ?? { ...inForce(catalog), untilMs: Infinity };

const inForce = ({ streaks, earnSince }: Catalog): StreaksInForce => ({
  streaks,
  ...(earnSince !== undefined && { earnSince }),
});

/** Midnights are on the quarter hours of UTC, whatever the zone. */
const QUARTER_MS = 15 * 60_000;
/** More than anybody changes them in earnest; a change costs every event of the tenant some bytes of its plan. */
const MOST_KEPT = 100;

/**
 * A catalog in which the streak settings are replaced at a time. The previous ones are kept, unless no midnight was theirs
 * and weeks begin as before, or nothing was ever configured, so that nobody has a streak. Pure.
 */
export function replaceStreaks(catalog: Catalog, streaks: StreakSettings, nowMs: number): Catalog {
  const before = catalog.streaksBefore ?? [];
  const { freezes } = catalog.streaks;
  const earning = ['enabled', 'autoEarnInterval', 'autoEarnAmount'] as const;
  const differs = earning.some((name) => freezes[name] !== streaks.freezes[name]);
  const settles =
    differs ||
    streaks.frequency !== catalog.streaks.frequency ||
    streaks.freezes.max !== freezes.max ||
    streaks.personalization !== catalog.streaks.personalization ||
    streaks.daysOff.join() !== catalog.streaks.daysOff.join();
  const sinceMs = before.at(-1)?.untilMs ?? -Infinity;
  const hadMidnight = Math.floor(sinceMs / QUARTER_MS) < Math.floor(nowMs / QUARTER_MS);
  const isKept = (settles && hadMidnight) || streaks.weekStart !== catalog.streaks.weekStart;
  return {
    ...catalog,
    streaks,
    ...(differs && { earnSince: nowMs }),
    ...(isKept &&
      catalog.version > 0 && {
        streaksBefore: [...before, { ...inForce(catalog), untilMs: nowMs }].slice(-MOST_KEPT),
      }),
  };
}

/** New users are in Postgres by then, and in `streak_zones`. */
const SWEPT_DAYS = 8;

/**
 * Those of the earlier settings that users may still have to be settled by.
 * @param sweptDay the last local day (epoch day) up to which all zones are swept; null: nobody is to be swept
 */
export const stillNeeded = (before: readonly EarlierStreaks[], sweptDay: number | null): readonly EarlierStreaks[] =>
  sweptDay === null ? before : before.filter(({ untilMs }) => untilMs > (sweptDay - SWEPT_DAYS) * DAY_MS);
