import { Type, type Static } from 'typebox';
import { StreakSettings } from './catalog.ts';
import { Nullable, Uuid } from './schemas.ts';
import { WholeNumber } from './client-keywords.ts';

/**
 * The streak settings in the Admin API: the contract's names, Laurel's additional settings, and earlier names of the same
 * settings (`personalization`, `metricId`, `initial`, `max`).
 */

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
