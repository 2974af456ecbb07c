import { v5 } from 'uuid';

/**
 * ID of a user's completion of an achievement: the same at every call and in every process, so it is not stored.
 * `achievementId`: its UUID.
 */
export const completionId = (completion: { tenantNo: number; userId: string; achievementId: string }): string =>
  v5(`${completion.tenantNo}:${completion.userId}`, completion.achievementId);
