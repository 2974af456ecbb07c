import type { Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { EXIT } from '../command-error.ts';
import { changesText, type Change } from './changes-text.ts';
import { readDocument } from './document-file.ts';

/** What pushing a document would change. */
export async function changesBy(options: AdminOptions, document: object): Promise<Change[]> {
  const answer = await askAdmin(options, { method: 'POST', path: '/v1/configuration/diff', body: document });
  return (answer as { changes: Change[] }).changes;
}

/** Adds `laurel config diff <file>`: what a push would change. Exit code 1: something. */
export function addDiff(config: Command): void {
  withAdminOptions(config.command('diff'))
    .description('tell what pushing the file would change; exit code 0: nothing, 1: something, 2: it would be refused')
    .argument('<file>')
    .action(async (file: string, options: AdminOptions) => {
      const changes = await changesBy(options, await readDocument(file));
      process.stdout.write(changesText(changes));
      if (changes.length > 0) process.exitCode = EXIT.differs;
    });
}
