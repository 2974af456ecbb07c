import type { StreakResponse } from '../../../domain/streak.ts';
import type { BaseStreak } from '../../responses/streak-response.ts';
import { isoTime, userPayloadJson, type UserJson } from './payload.ts';

/** Payload of `streak.started` and `streak.extended`: the streak after the event. */
export const streakExtended = (
  type: 'streak.started' | 'streak.extended',
  user: UserJson,
  { streak }: { streak: BaseStreak },
): string => userPayloadJson(type, user, { streak });

/** Payload of `streak.lost`. `length`: what it was, in periods. */
export const streakLost = (user: UserJson, lost: { length: number }): string =>
  userPayloadJson('streak.lost', user, lost);

/** Payload of `streak.freeze_consumed`: how many were used, and how many are left. */
export const freezeConsumed = (user: UserJson, { consumed, freezes }: { consumed: number; freezes: number }): string =>
  userPayloadJson('streak.freeze_consumed', user, { consumed, freezes });

/** Payload of `streak.freeze_earned`: how many were earned, and how many there are now. */
export const freezeEarned = (user: UserJson, { earned, freezes }: { earned: number; freezes: number }): string =>
  userPayloadJson('streak.freeze_earned', user, { earned, freezes });

/** Payload of `emails.streak_reminder_due`, due at `dueMs` (epoch ms). */
export const streakReminderDue = (
  user: UserJson,
  { streak, dueMs }: { streak: StreakResponse; dueMs: number },
): string => userPayloadJson('emails.streak_reminder_due', user, { timestamp: isoTime(dueMs), streak });
