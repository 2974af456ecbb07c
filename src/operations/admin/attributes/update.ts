import { updateOperation } from '../../resource-operations.ts';
import { attributes } from './attributes.ts';

export const adminAttributesUpdate = updateOperation(attributes);
