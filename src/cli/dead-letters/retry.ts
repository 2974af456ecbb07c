import type { Command } from 'commander';
import type { DeadLetter } from '../../domain/dead-letters.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { EXIT } from '../command-error.ts';

/** Adds `laurel dead-letters retry <id…>`: exit code 1 if something is not stored this time either. */
export function addRetry(letters: Command): void {
  withAdminOptions(letters.command('retry'))
    .description('store what is not stored of them, now that its cause is gone')
    .argument('<id...>')
    .action(async (ids: string[], options: AdminOptions) => {
      for (const id of ids) {
        const path = `/v1/dead-letters/${encodeURIComponent(id)}/retry`;
        const { status, reason } = (await askAdmin(options, { method: 'POST', path })) as DeadLetter;
        process.stdout.write(`${id}  ${status === 'stored' ? 'stored' : `still waits: ${reason}`}\n`);
        if (status !== 'stored') process.exitCode = EXIT.differs;
      }
    });
}
