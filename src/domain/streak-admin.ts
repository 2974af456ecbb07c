import { Type, type Static } from 'typebox';
import { AdminIssue, DeletedResources, Uuid } from './admin.ts';
import { UserId } from './user.ts';

const Day = Type.String({ format: 'date' });

export const StreakFreezeItem = Type.Object({ userId: UserId });
export const StreakPauseItem = Type.Object({ userId: UserId, start: Day, end: Day });
export type StreakPauseItem = Static<typeof StreakPauseItem>;
export const StreakRestoreItem = Type.Object({ id: UserId });

/** A pause of a user's streaks, from one local day to another, both included. */
export const AdminStreakPause = Type.Object({
  id: Uuid,
  userId: Type.String(),
  start: Day,
  end: Day,
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
