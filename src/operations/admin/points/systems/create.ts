import { createOperation } from '../../../resource-operations.ts';
import { systems } from './systems.ts';

export const adminPointsSystemsCreate = createOperation(systems);
