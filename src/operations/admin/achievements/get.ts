import { getOperation } from '../../resource-operations.ts';
import { achievements } from './achievements.ts';

export const adminAchievementsGet = getOperation(achievements);
