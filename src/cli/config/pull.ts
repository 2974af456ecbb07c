import type { Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { documentText, writeDocument } from './document-file.ts';

/** Adds `laurel config pull [file]`: what is configured, to a file or standard output. */
export function addPull(config: Command): void {
  withAdminOptions(config.command('pull'))
    .description('write what is configured to a file, or to standard output')
    .argument('[file]')
    .action(async (file: string | undefined, options: AdminOptions) => {
      const document = await askAdmin(options, { method: 'GET', path: '/v1/configuration' });
      const text = documentText(document);
      if (file === undefined) process.stdout.write(text);
      else await writeDocument(file, text);
    });
}
