import { createOperation } from '../../resource-operations.ts';
import { achievements } from './achievements.ts';

export const adminAchievementsCreate = createOperation(achievements);
