import { getOperation } from '../../../resource-operations.ts';
import { triggers } from './triggers.ts';

export const adminPointsTriggersGet = getOperation(triggers);
