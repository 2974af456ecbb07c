import type { Command } from 'commander';
import type { DeadLetter } from '../../domain/dead-letters.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';

const PAGE = 100;

/** Adds `laurel dead-letters list`. */
export function addList(letters: Command): void {
  withAdminOptions(letters.command('list'))
    .description('those that wait, oldest first')
    .option('--all', 'those that are stored since, too')
    .action(async ({ all, ...options }: AdminOptions & { all?: boolean }) => {
      let shown = 0;
      for (let skip = 0; ; skip += PAGE) {
        const status = all === true ? '' : '&status=waiting';
        const path = `/v1/dead-letters?limit=${PAGE}&skip=${skip}${status}`;
        const page = (await askAdmin(options, { method: 'GET', path })) as DeadLetter[];
        process.stdout.write(page.map(lineOf).join(''));
        shown += page.length;
        if (page.length < PAGE) break;
      }
      if (shown === 0) process.stdout.write('No entry was set aside.\n');
    });
}

/** One a line; the reason comes last, for it has spaces. */
const lineOf = ({ id, created, status, shard, tenantNo, parts, reason }: DeadLetter): string =>
  `${id}  ${created}  ${status}  shard ${shard}  tenant ${tenantNo ?? '?'}  parts ${parts.length}  ${reason}\n`;
