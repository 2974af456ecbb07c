import { listOperation } from '../../resource-operations.ts';
import { attributes } from './attributes.ts';

export const adminAttributesList = listOperation(attributes);
