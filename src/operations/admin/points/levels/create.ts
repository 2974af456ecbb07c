import { createOperation } from '../../../resource-operations.ts';
import { levels } from './levels.ts';

export const adminPointsLevelsCreate = createOperation(levels);
