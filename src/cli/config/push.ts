import type { Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { agreed } from '../agreed.ts';
import { CommandError } from '../command-error.ts';
import { changesText, type Change } from './changes-text.ts';
import { changesBy } from './diff.ts';
import { readDocument } from './document-file.ts';

/** Adds `laurel config push <file>`: makes the configuration what the file says, after a question where it archives. */
export function addPush(config: Command): void {
  withAdminOptions(config.command('push'))
    .description('make the configuration what the file says; lists that it does not name stay')
    .argument('<file>')
    .option('-y, --yes', 'archive without asking')
    .action(async (file: string, { yes, ...options }: AdminOptions & { yes?: boolean }) => {
      const document = await readDocument(file);
      const foreseen = await changesBy(options, document);
      process.stdout.write(changesText(foreseen));
      if (foreseen.length === 0) return;
      if (yes !== true) await confirmArchiving(foreseen);
      const answer = await askAdmin(options, { method: 'PUT', path: '/v1/configuration', body: document });
      const { version, changes } = answer as { version: number; changes: Change[] };
      // Somebody else may have changed something since the question.
      if (JSON.stringify(changes) !== JSON.stringify(foreseen))
        process.stdout.write(`The configuration had changed meanwhile. What this push did:\n${changesText(changes)}`);
      process.stdout.write(`Done: version ${version}.\n`);
    });
}

/** Resolves when nothing is archived, or it is agreed to. */
async function confirmArchiving(changes: Change[]): Promise<void> {
  const count = changes.filter(({ action }) => action === 'delete').length;
  if (count === 0) return;
  if (!process.stdin.isTTY) throw new CommandError(`Nothing was changed: this archives ${count}, which takes --yes.`);
  if (!(await agreed(`Archive ${count}? Their history stays, but they cannot be taken back. [y/N] `)))
    throw new CommandError('Nothing was changed.');
}
