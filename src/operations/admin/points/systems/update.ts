import { updateOperation } from '../../../resource-operations.ts';
import { systems } from './systems.ts';

export const adminPointsSystemsUpdate = updateOperation(systems);
