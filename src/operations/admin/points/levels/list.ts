import { listOperation } from '../../../resource-operations.ts';
import { levels } from './levels.ts';

export const adminPointsLevelsList = listOperation(levels);
