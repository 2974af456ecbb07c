import { listOperation } from '../../../resource-operations.ts';
import { triggers } from './triggers.ts';

export const adminPointsTriggersList = listOperation(triggers);
