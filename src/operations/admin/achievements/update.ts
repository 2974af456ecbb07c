import { updateOperation } from '../../resource-operations.ts';
import { achievements } from './achievements.ts';

export const adminAchievementsUpdate = updateOperation(achievements);
