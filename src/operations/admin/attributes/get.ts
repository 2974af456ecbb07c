import { getOperation } from '../../resource-operations.ts';
import { attributes } from './attributes.ts';

export const adminAttributesGet = getOperation(attributes);
