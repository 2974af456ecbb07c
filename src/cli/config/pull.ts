import { Option, type Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { sourceOf, type SourceFlags } from '../import/source.ts';
import { wholeNumber } from '../whole-number.ts';
import type { pullSource } from './pull-source.ts';
import { documentText, writeDocument } from './document-file.ts';

type Options = AdminOptions & Omit<SourceFlags, 'from'> & { from?: string; partial?: boolean };

/** Adds `laurel config pull [file]`: what is configured, here or at another server, to a file or standard output. */
export function addPull(config: Command): void {
  withAdminOptions(config.command('pull'))
    .description('write what is configured to a file, or to standard output')
    .argument('[file]')
    .option('--from <url>', 'the Admin API of another server of the same contract, to read instead of this Laurel')
    .addOption(new Option('--from-key <key>', 'an admin key there').env('SOURCE_API_KEY'))
    .option('--from-tenant <id>', 'the tenant there')
    .option('--rate <n>', 'requests a second at most to the source; by default what its headers allow', wholeNumber)
    .option('--partial', 'with --from: keep lists of which some items cannot be read')
    .action(async (file: string | undefined, { from, partial = false, ...options }: Options) => {
      const { document, unseen } =
        from === undefined
          ? { document: await askAdmin(options, { method: 'GET', path: '/v1/configuration' }), unseen: [] }
          : await pullFrom(sourceOf({ ...options, from }), partial);
      const text = documentText(document);
      if (file === undefined) process.stdout.write(text);
      else await writeDocument(file, text);
      if (unseen.length > 0)
        process.stderr.write(`Not seen at the source:\n${unseen.map((line) => `  ${line}\n`).join('')}`);
    });
}

/** Loads TypeBox only for the command that checks answers of a source with it. */
async function pullFrom(source: ReturnType<typeof sourceOf>, partial: boolean): ReturnType<typeof pullSource> {
  const loaded = await import('./pull-source.ts');
  return loaded.pullSource(source, { partial });
}
