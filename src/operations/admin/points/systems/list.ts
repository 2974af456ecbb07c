import { listOperation } from '../../../resource-operations.ts';
import { systems } from './systems.ts';

export const adminPointsSystemsList = listOperation(systems);
