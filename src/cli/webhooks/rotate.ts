import type { Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText } from '../table.ts';
import { webhookPath } from './webhook-path.ts';

interface Rotated {
  id: string;
  secret: string;
  previousUntil: string | null;
}

/** Adds `laurel webhooks rotate <webhook>`. */
export function addRotate(webhooks: Command): void {
  withAdminOptions(webhooks.command('rotate'))
    .description('another secret, shown this once; the previous one signs too for 24 hours, unless it is rotated again')
    .argument('<webhook>', 'ID or name')
    .option('--json', 'as JSON')
    .action(async (webhook: string, { json, ...options }: AdminOptions & { json?: boolean }) => {
      const path = `${await webhookPath(options, webhook)}/rotate-secret`;
      const rotated = (await askAdmin(options, { method: 'POST', path })) as Rotated;
      process.stdout.write(json === true ? jsonText(rotated) : `${rotated.secret}\n`);
      if (json !== true && rotated.previousUntil !== null)
        process.stderr.write(`The previous secret signs too until ${rotated.previousUntil}.\n`);
    });
}
