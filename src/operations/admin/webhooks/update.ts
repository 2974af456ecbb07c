import { updateOperation } from '../../resource-operations.ts';
import { webhooks } from './webhooks.ts';

export const adminWebhooksUpdate = updateOperation(webhooks);
