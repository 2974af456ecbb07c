import { updateOperation } from '../../../resource-operations.ts';
import { levels } from './levels.ts';

export const adminPointsLevelsUpdate = updateOperation(levels);
