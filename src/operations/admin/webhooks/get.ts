import { getOperation } from '../../resource-operations.ts';
import { webhooks } from './webhooks.ts';

export const adminWebhooksGet = getOperation(webhooks);
