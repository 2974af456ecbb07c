import { listOperation } from '../../resource-operations.ts';
import { webhooks } from './webhooks.ts';

export const adminWebhooksList = listOperation(webhooks);
