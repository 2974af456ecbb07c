import { deleteOperation } from '../../resource-operations.ts';
import { webhooks } from './webhooks.ts';

export const adminWebhooksDelete = deleteOperation(webhooks);
