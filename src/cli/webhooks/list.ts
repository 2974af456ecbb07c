import type { Command } from 'commander';
import { withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText, tableText } from '../table.ts';
import { allWebhooks } from './webhook-path.ts';

/** Adds `laurel webhooks list`. */
export function addList(webhooks: Command): void {
  withAdminOptions(webhooks.command('list'))
    .description('all of them, oldest first')
    .option('--json', 'as JSON')
    .action(async ({ json, ...options }: AdminOptions & { json?: boolean }) => {
      const all = await allWebhooks(options);
      const rows = all.map(({ id, name, enabled, events, url }) => [
        id,
        name,
        enabled ? 'enabled' : 'disabled',
        events.length,
        url,
      ]);
      const head = ['ID', 'NAME', 'STATE', 'EVENTS', 'URL'];
      process.stdout.write(
        json === true ? jsonText(all) : all.length === 0 ? 'There is no webhook.\n' : tableText(head, rows),
      );
    });
}
