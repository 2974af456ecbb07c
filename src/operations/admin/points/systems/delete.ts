import { deleteOperation } from '../../../resource-operations.ts';
import { systems } from './systems.ts';

export const adminPointsSystemsDelete = deleteOperation(systems);
