import { deleteOperation } from '../../resource-operations.ts';
import { achievements } from './achievements.ts';

export const adminAchievementsDelete = deleteOperation(achievements);
