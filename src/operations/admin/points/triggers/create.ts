import { createOperation } from '../../../resource-operations.ts';
import { triggers } from './triggers.ts';

export const adminPointsTriggersCreate = createOperation(triggers);
