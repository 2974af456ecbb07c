import { getOperation } from '../../../resource-operations.ts';
import { systems } from './systems.ts';

export const adminPointsSystemsGet = getOperation(systems);
