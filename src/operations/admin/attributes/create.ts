import { createOperation } from '../../resource-operations.ts';
import { attributes } from './attributes.ts';

export const adminAttributesCreate = createOperation(attributes);
