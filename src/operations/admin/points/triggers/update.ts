import { updateOperation } from '../../../resource-operations.ts';
import { triggers } from './triggers.ts';

export const adminPointsTriggersUpdate = updateOperation(triggers);
