import { Type, type Static } from 'typebox';
import { DaysOff } from './catalog.ts';

/** Each channel once is all there is to say. */
const Channels = Type.Optional(Type.Array(Type.Enum(['email', 'push']), { maxItems: 2 }));

/** The most metrics of a user's own rule: all of them are kept in the user's state. */
const MAX_METRICS = 100;

/** By which channels a user wants which notifications. */
export const NotificationPreferences = Type.Object({
  achievement_completed: Channels,
  recap: Channels,
  reactivation: Channels,
  streak_reminder: Channels,
});
export type NotificationPreferences = Static<typeof NotificationPreferences>;

/** A user's own rule of the streak; what is not there is as for everyone. */
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

/** Whether a user wants to be seen on leaderboards. */
export const LeaderboardPreferences = Type.Object({ hidden: Type.Boolean() });

export const UserPreferencesResponse = Type.Object({
  notifications: NotificationPreferences,
  streak: Type.Optional(StreakPreferences),
  /** Left out by those who are not hidden by own wish. */
  leaderboards: Type.Optional(LeaderboardPreferences),
});
export type UserPreferencesResponse = Static<typeof UserPreferencesResponse>;

/** Preferences to set: sent ones replace, others stay. */
export const UpdateUserPreferencesRequest = Type.Object({
  notifications: Type.Optional(NotificationPreferences),
  streak: Type.Optional(StreakPreferences),
  leaderboards: Type.Optional(LeaderboardPreferences),
});
export type UpdateUserPreferencesRequest = Static<typeof UpdateUserPreferencesRequest>;
