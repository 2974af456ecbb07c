import type { Command } from 'commander';
import type { Recomputation } from '../../domain/recomputation.ts';
import { RECOMPUTED_KINDS } from '../../domain/recomputed-kinds.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText } from '../table.ts';
import { planText } from './plan-text.ts';
import { watched } from './watched.ts';

interface Options extends AdminOptions {
  what: string[];
  since?: string;
  userAttributes?: string;
  mayRevoke?: boolean;
  apply?: boolean;
  json?: boolean;
}

/** Adds `laurel recompute start`. */
export function addStart(recompute: Command): void {
  withAdminOptions(recompute.command('start'))
    .description('plan what users would have by the rules of now, and show it; with --apply also apply it')
    .option('--what <kind...>', RECOMPUTED_KINDS.join(', '), [...RECOMPUTED_KINDS])
    .option('--since <day>', 'change only what was awarded and completed since a day (YYYY-MM-DD)')
    .option('--user-attributes <pairs>', 'only users with these attributes: attribute:value,…')
    .option('--may-revoke', 'users may have less afterwards')
    .option('--apply', 'apply the plan as soon as it is made')
    .option('--json', 'as JSON')
    .action(async ({ what, since, userAttributes, mayRevoke = false, apply = false, json, ...options }: Options) => {
      const body = { what, since, cohort: { userAttributes }, mayRevoke, dryRun: !apply };
      const begun = await askAdmin(options, { method: 'POST', path: '/v1/recomputations', body });
      const job = await watched(options, begun as Recomputation);
      if (json === true) process.stdout.write(jsonText(job));
      else {
        process.stdout.write(planText(job));
        if (job.status === 'planned')
          process.stdout.write(`\nNothing is changed. To apply it: laurel recompute apply ${job.id}\n`);
      }
    });
}
