import type { Command } from 'commander';
import { withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText } from '../table.ts';
import { planText } from './plan-text.ts';
import { readOne } from './watched.ts';

/** Adds `laurel recompute show <id>`. */
export function addShow(recompute: Command): void {
  withAdminOptions(recompute.command('show'))
    .description('a recomputation: its figures, and some of its users')
    .argument('<id>', 'of the recomputation')
    .option('--json', 'as JSON')
    .action(async (id: string, options: AdminOptions & { json?: boolean }) => {
      const job = await readOne(options, id);
      process.stdout.write(options.json === true ? jsonText(job) : planText(job));
    });
}
