import { deleteOperation } from '../../../resource-operations.ts';
import { levels } from './levels.ts';

export const adminPointsLevelsDelete = deleteOperation(levels);
