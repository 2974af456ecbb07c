import { type Static, Type } from 'typebox';
import { type Catalog, type EarlierStreaks, type StreaksInForce } from '../catalog.ts';
import { StreakSettings } from '../fields/tenant-settings.ts';
import { DAY_MS } from '../periods.ts';
import { Nullable, Uuid, WholeNumber } from '../schemas.ts';

/** Streak settings in the Admin API. Some have two names: the contract's, and an earlier one. */

const { enabled, frequency, weekStart, evaluationMode, daysOff, personalization, freezes } = StreakSettings.properties;
const { autoEarnInterval, autoEarnAmount } = freezes.properties;

export const StreakSettingsAnswer = Type.Object({
  enabled,
  frequency,
  weekStart,
  evaluationMode,
  customizationEnabled: Type.Boolean(),
  personalization,
  daysOff,
  metrics: Type.Array(Type.Object({ key: Type.String(), metricId: Uuid, threshold: WholeNumber() })),
  /** `null` if freezes are off. */
  freezes: Nullable(
    Type.Object({
      ...freezes.properties,
      startCount: Type.Integer(),
      maxCount: Type.Integer(),
    }),
  ),
});
export type StreakSettingsAnswer = Static<typeof StreakSettingsAnswer>;

/** `freezes` with `startCount` and `maxCount` replaces all freeze settings; the earlier names set them one by one. */
export const StreakSettingsChanges = Type.Partial(
  Type.Object({
    enabled,
    frequency,
    weekStart,
    evaluationMode,
    customizationEnabled: Type.Boolean(),
    personalization,
    daysOff,
    metrics: Type.Array(
      Type.Object({ key: Type.Optional(Type.String()), metricId: Type.Optional(Uuid), threshold: Type.Number() }),
    ),
    freezes: Nullable(
      Type.Partial(
        Type.Object({
          enabled: Type.Boolean(),
          startCount: Type.Integer({ minimum: 0, maximum: 100 }),
          maxCount: Type.Integer({ minimum: 1, maximum: 100 }),
          initial: Type.Integer({ minimum: 0, maximum: 100 }),
          max: Type.Integer({ minimum: 0, maximum: 100 }),
          autoEarnInterval,
          autoEarnAmount,
        }),
      ),
    ),
  }),
);
export type StreakSettingsChanges = Static<typeof StreakSettingsChanges>;

/** The settings in force at a midnight (epoch ms), and the time until which they hold; `Infinity` for the current ones. */
export const streaksAt = (catalog: Catalog, midnightMs: number): StreaksInForce & { untilMs: number } =>
  catalog.streaksBefore?.find(({ untilMs }) => midnightMs <= untilMs) ?? { ...inForce(catalog), untilMs: Infinity };

const inForce = ({ streaks, earnSince }: Catalog): StreaksInForce => ({
  streaks,
  ...(earnSince !== undefined && { earnSince }),
});

/** In every time zone, midnight falls on a quarter hour of UTC. */
const QUARTER_MS = 15 * 60_000;
/** Far more than real use needs. Each kept change adds some bytes to the plan of every event. */
const MOST_KEPT = 100;

/**
 * Replaces a catalog's streak settings at a time. Keeps the previous ones, unless no midnight fell into their time and the
 * first day of the week stays the same, or nothing was configured before, so that no user has a streak. Pure.
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

/** By then, new users are in Postgres and in `streak_zones`. */
const SWEPT_DAYS = 8;

/** The earlier settings that some users may still need. `sweptDay`: all zones are swept up to it; `null`: nobody is left. */
export const stillNeeded = (before: readonly EarlierStreaks[], sweptDay: number | null): readonly EarlierStreaks[] =>
  sweptDay === null ? before : before.filter(({ untilMs }) => untilMs > (sweptDay - SWEPT_DAYS) * DAY_MS);
