import { Type, type Static } from 'typebox';
import { AdminIssue, DeletedResources } from './admin.ts';
import { LocalDate, Uuid } from './schemas.ts';
import { UserId } from './user.ts';

export const StreakFreezeItem = Type.Object({ userId: UserId });
export const StreakPauseItem = Type.Object({ userId: UserId, start: LocalDate, end: LocalDate });
export type StreakPauseItem = Static<typeof StreakPauseItem>;
/** A user whose streak to restore or reset. */
export const StreakUserItem = Type.Object({ id: UserId });

/** A pause of a user's streaks; both local days are included. */
export const AdminStreakPause = Type.Object({
  id: Uuid,
  userId: Type.String(),
  start: LocalDate,
  end: LocalDate,
  status: Type.Enum(['active', 'archived']),
});
export type AdminStreakPause = Static<typeof AdminStreakPause>;

export const CreatedStreakFreezes = Type.Object({ issues: Type.Array(AdminIssue) });
export const CreatedStreakPauses = Type.Object({
  created: Type.Array(AdminStreakPause),
  issues: Type.Array(AdminIssue),
});
export const DeletedStreakPauses = DeletedResources;
export const RestoredStreaks = Type.Object({
  restoredUsers: Type.Array(Type.String()),
  issues: Type.Array(AdminIssue),
});
export const ResetStreaks = Type.Object({
  resetUsers: Type.Array(Type.String()),
  issues: Type.Array(AdminIssue),
});
