import { Type, type Static } from 'typebox';

const Channels = Type.Optional(Type.Array(Type.Enum(['email', 'push'])));

/** By which channels a user wants to hear of what. */
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
  metrics: Type.Optional(Type.Array(Type.Object({ key: Type.String(), threshold: Type.Number() }))),
});
export type StreakPreferences = Static<typeof StreakPreferences>;

export const UserPreferencesResponse = Type.Object({
  notifications: NotificationPreferences,
  streak: Type.Optional(StreakPreferences),
});
export type UserPreferencesResponse = Static<typeof UserPreferencesResponse>;

/** Preferences to set: sent ones replace, others stay. */
export const UpdateUserPreferencesRequest = Type.Object({
  notifications: Type.Optional(NotificationPreferences),
  streak: Type.Optional(StreakPreferences),
});
export type UpdateUserPreferencesRequest = Static<typeof UpdateUserPreferencesRequest>;
