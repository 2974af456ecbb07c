import type { Command } from 'commander';
import type { Recomputation } from '../../domain/recomputation.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText, tableText } from '../table.ts';

const HEAD = ['ID', 'STATUS', 'WHAT', 'USERS', 'GAINING', 'LOSING', 'REQUESTED', 'BY'];

/** Adds `laurel recompute list`. */
export function addList(recompute: Command): void {
  withAdminOptions(recompute.command('list'))
    .description('the latest recomputations, newest first')
    .option('--json', 'as JSON')
    .action(async (options: AdminOptions & { json?: boolean }) => {
      const jobs = (await askAdmin(options, { method: 'GET', path: '/v1/recomputations' })) as Recomputation[];
      process.stdout.write(options.json === true ? jsonText(jobs) : tableText(HEAD, jobs.map(row)));
    });
}

const row = ({ id, status, request, figures, requested, requestedBy }: Recomputation): (string | number)[] => [
  id,
  status,
  request.what.join(' '),
  figures.users,
  figures.gaining,
  figures.losing,
  requested,
  requestedBy,
];
