import { listOperation } from '../../resource-operations.ts';
import { achievements } from './achievements.ts';

export const adminAchievementsList = listOperation(achievements);
