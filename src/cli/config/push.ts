import type { Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { agreed } from '../agreed.ts';
import { CommandError } from '../command-error.ts';
import { changesText, type Change } from './changes-text.ts';
import { askAboutDemo, demoFlag, demoQuery, type DemoFlags } from './demo-choice.ts';
import { changesBy } from './diff.ts';
import { readDocument } from './document-file.ts';

/** Adds `laurel config push <file>`: makes the configuration what the file says, after a question where it archives. */
export function addPush(config: Command): void {
  withAdminOptions(config.command('push'))
    .description('make the configuration what the file says; lists that it does not name stay')
    .argument('<file>')
    .option('-y, --yes', 'archive without asking')
    .option('--remove-demo', 'archive what is left of the demo, without asking')
    .option('--keep-demo', 'keep what the file does not name of the demo as your own')
    .action(async (file: string, { yes, ...options }: AdminOptions & DemoFlags & { yes?: boolean }) => {
      const document = await readDocument(file);
      const wanted = demoFlag(options);
      const { changes: foreseen, demo } = await changesBy(options, document, wanted);
      process.stdout.write(changesText(foreseen));
      const choice = wanted ?? (await askAboutDemo(demo));
      // A demo that is kept is the demo no more, even where nothing changes.
      if (foreseen.length === 0 && choice === undefined) return;
      const asksFor = foreseen.filter(({ action, demo }) => action === 'delete' && !(demo && choice === 'remove'));
      if (yes !== true) await confirmArchiving(asksFor);
      const path = `/v1/configuration${demoQuery(choice)}`;
      const answer = await askAdmin(options, { method: 'PUT', path, body: document });
      const { version, changes } = answer as { version: number; changes: Change[] };
      // Somebody else may have changed something since the question.
      if (JSON.stringify(changes) !== JSON.stringify(foreseen))
        process.stdout.write(`The configuration had changed meanwhile. What this push did:\n${changesText(changes)}`);
      process.stdout.write(`Done: version ${version}.\n`);
    });
}

/** Resolves when nothing is archived, or it is agreed to. */
async function confirmArchiving(archived: Change[]): Promise<void> {
  const count = archived.length;
  if (count === 0) return;
  const ofDemo = archived.filter(({ demo }) => demo).length;
  const some = ofDemo === 0 ? `${count}` : `${count} (${ofDemo === count ? 'all' : ofDemo} of the demo)`;
  const takes = ofDemo === count ? '--remove-demo or --yes' : '--yes';
  if (!process.stdin.isTTY) throw new CommandError(`Nothing was changed: this archives ${some}, which takes ${takes}.`);
  if (!(await agreed(`Archive ${some}? Their history stays, but they cannot be taken back. [y/N] `)))
    throw new CommandError('Nothing was changed.');
}
