import type { Command } from 'commander';
import type { Recomputation } from '../../domain/recomputation.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText } from '../table.ts';
import { planText } from './plan-text.ts';
import { pathOf, watched } from './watched.ts';

/** By their names. */
export const STEPS = {
  apply: 'apply a plan as it was shown, and wait until it is done',
  revert: 'take back all that one did, and wait until it is done',
  cancel: 'end one that is planned, or under way; what was applied stays',
} as const;

/** Adds `laurel recompute apply <id>`, `revert` and `cancel`. */
export function addSteps(recompute: Command): void {
  for (const [step, description] of Object.entries(STEPS))
    withAdminOptions(recompute.command(step))
      .description(description)
      .argument('<id>', 'of the recomputation')
      .option('--json', 'as JSON')
      .action(async (id: string, options: AdminOptions & { json?: boolean }) => {
        const begun = await askAdmin(options, { method: 'POST', path: `${pathOf(id)}/${step}` });
        const job = await watched(options, begun as Recomputation);
        process.stdout.write(options.json === true ? jsonText(job) : planText(job));
      });
}
