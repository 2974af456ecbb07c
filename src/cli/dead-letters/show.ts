import type { Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';

/** Adds `laurel dead-letters show <id>`. */
export function addShow(letters: Command): void {
  withAdminOptions(letters.command('show'))
    .description('all of one as JSON: what is not stored and why, and what the entry holds (personal data too)')
    .argument('<id>')
    .action(async (id: string, options: AdminOptions) => {
      const letter = await askAdmin(options, { method: 'GET', path: `/v1/dead-letters/${encodeURIComponent(id)}` });
      process.stdout.write(`${JSON.stringify(letter, null, 2)}\n`);
    });
}
