import type { Command } from 'commander';
import type { ShownWebhookDelivery } from '../../domain/webhook-delivery.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { EXIT } from '../command-error.ts';
import { jsonText } from '../table.ts';
import { webhookPath } from './webhook-path.ts';

/** Adds `laurel webhooks test <webhook> <type>`: exit code 1 unless it is delivered within some seconds. */
export function addTest(webhooks: Command): void {
  withAdminOptions(webhooks.command('test'))
    .description('send the example of a type')
    .argument('<webhook>', 'ID or name')
    .argument('<type>', 'e.g. points.changed')
    .option('--json', 'as JSON')
    .action(async (webhook: string, type: string, { json, ...options }: AdminOptions & { json?: boolean }) => {
      const path = `${await webhookPath(options, webhook)}/test`;
      const delivery = (await askAdmin(options, { method: 'POST', path, body: { type } })) as ShownWebhookDelivery;
      process.stdout.write(json === true ? jsonText(delivery) : outcomeOf(delivery));
      if (delivery.status !== 'delivered') process.exitCode = EXIT.differs;
    });
}

function outcomeOf({ id, status, attempts, reason }: ShownWebhookDelivery): string {
  const last = attempts.at(-1);
  if (last === undefined) return `${id}  ${reason ?? 'was not tried yet: is a worker running?'}\n`;
  if (status === 'delivered') return `${id}  delivered: ${last.status} in ${last.durationMs} ms\n`;
  return `${id}  not delivered: ${last.error}${status === 'pending' ? '; it is tried again' : ''}\n`;
}
