import type { Command } from 'commander';
import type { DeletedResources } from '../../domain/admin.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { agreed } from '../agreed.ts';
import { CommandError, EXIT } from '../command-error.ts';

/** Adds `laurel dead-letters drop <id…>`, after a question. */
export function addDrop(letters: Command): void {
  withAdminOptions(letters.command('drop'))
    .description('remove them for good: what is not stored of them is lost')
    .argument('<id...>')
    .option('-y, --yes', 'drop without asking')
    .action(async (ids: string[], { yes, ...options }: AdminOptions & { yes?: boolean }) => {
      if (yes !== true) await confirm(ids.length);
      const query = ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&');
      const answer = await askAdmin(options, { method: 'DELETE', path: `/v1/dead-letters?${query}` });
      const { deleted, issues } = answer as DeletedResources;
      for (const { id } of deleted) process.stdout.write(`${id}  dropped\n`);
      for (const { id, message } of issues) process.stderr.write(`${id}  ${message}\n`);
      if (issues.length > 0) process.exitCode = EXIT.differs;
    });
}

async function confirm(count: number): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError('Nothing was dropped: without a terminal it takes --yes.');
  if (!(await agreed(`Drop ${count}? What is not stored of them is lost. [y/N] `)))
    throw new CommandError('Nothing was dropped.');
}
