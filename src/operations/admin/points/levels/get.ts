import { getOperation } from '../../../resource-operations.ts';
import { levels } from './levels.ts';

export const adminPointsLevelsGet = getOperation(levels);
