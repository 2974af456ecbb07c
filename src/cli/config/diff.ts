import type { Command } from 'commander';
import type { DemoChoice, DemoResource } from '../../domain/configuration.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { EXIT } from '../command-error.ts';
import { changesText, type Change } from './changes-text.ts';
import { demoQuery } from './demo-choice.ts';
import { readDocument } from './document-file.ts';

/** What pushing a document would change, and what it would leave of the demo without naming it. */
export async function changesBy(
  options: AdminOptions,
  document: object,
  choice?: DemoChoice,
): Promise<{ changes: Change[]; demo: DemoResource[] }> {
  const path = `/v1/configuration/diff${demoQuery(choice ?? 'remove')}`;
  return (await askAdmin(options, { method: 'POST', path, body: document })) as {
    changes: Change[];
    demo: DemoResource[];
  };
}

/** Adds `laurel config diff <file>`: what a push would change. Exit code 1: something. */
export function addDiff(config: Command): void {
  withAdminOptions(config.command('diff'))
    .description('show what pushing the file would change; exit code 0: nothing, 1: something, 2: it would be refused')
    .argument('<file>')
    .action(async (file: string, options: AdminOptions) => {
      const { changes, demo } = await changesBy(options, await readDocument(file));
      process.stdout.write(changesText(changes));
      if (demo.length > 0) {
        process.stderr.write(
          `The demo is configured here, and the file does not name ${demo.length} of its resources. Without them (--remove-demo) ` +
            'the changes are these; with --keep-demo they stay.\n',
        );
      }
      if (changes.length > 0) process.exitCode = EXIT.differs;
    });
}
