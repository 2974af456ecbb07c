import { type Static, Type } from 'typebox';
import { DaysOff } from '../fields/tenant-settings.ts';

/** At most one entry per channel. */
const Channels = Type.Optional(Type.Array(Type.Enum(['email', 'push']), { maxItems: 2 }));

/** Maximum number of metrics in a user's own streak rule. The user's state holds all of them. */
const MAX_METRICS = 100;

export const NotificationPreferences = Type.Object({
  achievement_completed: Channels,
  recap: Channels,
  reactivation: Channels,
  streak_reminder: Channels,
});
export type NotificationPreferences = Static<typeof NotificationPreferences>;

/** A user's own streak rule. Fields that are not set follow the tenant's settings. */
export const StreakPreferences = Type.Object({
  enabled: Type.Optional(Type.Boolean({ default: true })),
  evaluationMode: Type.Optional(Type.Enum(['OR', 'AND'])),
  metrics: Type.Optional(
    Type.Array(Type.Object({ key: Type.String({ maxLength: 255 }), threshold: Type.Number() }), {
      maxItems: MAX_METRICS,
    }),
  ),
  daysOff: Type.Optional(DaysOff),
});
export type StreakPreferences = Static<typeof StreakPreferences>;

export const LeaderboardPreferences = Type.Object({ hidden: Type.Boolean() });

export const UserPreferencesResponse = Type.Object({
  notifications: NotificationPreferences,
  streak: Type.Optional(StreakPreferences),
  /** Omitted unless the user chose to be hidden. */
  leaderboards: Type.Optional(LeaderboardPreferences),
});
export type UserPreferencesResponse = Static<typeof UserPreferencesResponse>;

/** Preferences to set. Fields in the request replace stored ones; others stay. */
export const UpdateUserPreferencesRequest = Type.Object({
  notifications: Type.Optional(NotificationPreferences),
  streak: Type.Optional(StreakPreferences),
  leaderboards: Type.Optional(LeaderboardPreferences),
});
export type UpdateUserPreferencesRequest = Static<typeof UpdateUserPreferencesRequest>;
