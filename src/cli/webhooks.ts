import type { Command } from 'commander';
import { addDeliveries } from './webhooks/deliveries.ts';
import { addList } from './webhooks/list.ts';
import { addResend } from './webhooks/resend.ts';
import { addRotate } from './webhooks/rotate.ts';
import { addTest } from './webhooks/test.ts';

/** Adds `laurel webhooks …`: where notifications go, and what became of them. */
export function addWebhooks(laurel: Command): void {
  const webhooks = laurel.command('webhooks').description('Where notifications go, and what became of them');
  for (const add of [addList, addDeliveries, addResend, addTest, addRotate]) add(webhooks);
}
