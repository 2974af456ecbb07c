import { deleteOperation } from '../../../resource-operations.ts';
import { triggers } from './triggers.ts';

export const adminPointsTriggersDelete = deleteOperation(triggers);
