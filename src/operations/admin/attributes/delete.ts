import { deleteOperation } from '../../resource-operations.ts';
import { attributes } from './attributes.ts';

export const adminAttributesDelete = deleteOperation(attributes);
