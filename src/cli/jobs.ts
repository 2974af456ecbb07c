import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { ShownJob, SpreadJob } from '../domain/administration/job.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { CommandError, examples, print, progressBar, tableText, wholeNumber } from './command.ts';

const HEAD = ['ID', 'KIND', 'ABOUT', 'STATUS', 'PROGRESS', 'REQUESTED', 'ERROR'];
const LOOK_MS = 500;

interface ListOptions extends AdminOptions {
  kind?: string;
  status?: string;
  limit: number;
}

export function addJobs(laurel: Command): void {
  const jobs = laurel.command('jobs').description('long work in the background: list, cancel or retry it');
  withAdminOptions(jobs.command('list'))
    .description('list the latest jobs, newest first')
    .option('--kind <kind>', 'only of this kind, for example backdating')
    .option('--status <status>', 'only with this status: waiting, running, done, failed or cancelled')
    .option('--limit <n>', 'at most so many, up to 100', wholeNumber, 20)
    .addHelpText('after', examples('jobs list --status running'))
    .action(list);
  withAdminOptions(jobs.command('cancel'))
    .description('cancel a job; what it has done stays')
    .argument('<id>', 'of the job')
    .addHelpText('after', examples('jobs cancel 01939d3c-8f10-7000-8000-000000000001'))
    .action(async (id: string, options: AdminOptions) => {
      const job = await change(options, id, 'cancel');
      print(options.json, job, tableText(HEAD, [row(job)]));
    });
  withAdminOptions(jobs.command('retry'))
    .description('run a job again that failed or was cancelled, or at once if it waits after an error')
    .argument('<id>', 'of the job')
    .option('--wait', 'wait until the job ends')
    .addHelpText('after', examples('jobs retry 01939d3c-8f10-7000-8000-000000000001 --wait'))
    .action(async (id: string, { wait = false, ...options }: AdminOptions & { wait?: boolean }) => {
      const begun = await change(options, id, 'retry');
      const job = wait ? await untilFinished(options, begun) : begun;
      print(options.json, job, tableText(HEAD, [row(job)]));
      if (job.status === 'failed') throw new CommandError(`The job failed: ${job.error ?? 'unknown'}`);
    });
}

/** Adds `laurel tenants spread`. */
export function addTenants(laurel: Command): void {
  const tenants = laurel.command('tenants').description('over how many shards of Redis a tenant is spread');
  withAdminOptions(tenants.command('spread'))
    .description('spread a tenant over a number of shards; requests about it are answered 503 until that is done')
    .argument('<shards>', 'a power of two from 1 to 256', wholeNumber)
    .addHelpText('after', examples('tenants spread 16', 'tenants spread 16 --tenant acme'))
    .action(async (shards: number, options: AdminOptions) => {
      const body = { shards };
      const begun = await askAdmin<SpreadJob>(options, { method: 'PUT', path: '/v1/spread', body });
      if (begun.warning !== undefined) process.stderr.write(`Warning: ${begun.warning}\n`);
      const job = await untilFinished(options, begun);
      print(options.json, job, tableText(HEAD, [row(job)]));
    });
}

async function list({ kind, status, limit, ...options }: ListOptions): Promise<void> {
  const query = new URLSearchParams({ limit: String(limit), ...(kind && { kind }), ...(status && { status }) });
  const jobs = await askAdmin<ShownJob[]>(options, { method: 'GET', path: `/v1/jobs?${query.toString()}` });
  print(options.json, jobs, jobs.length === 0 ? 'There are no such jobs.\n' : tableText(HEAD, jobs.map(row)));
}

const pathOf = (id: string): string => `/v1/jobs/${encodeURIComponent(id)}`;

const change = async (options: AdminOptions, id: string, action: 'cancel' | 'retry'): Promise<ShownJob> =>
  await askAdmin<ShownJob>(options, { method: 'POST', path: `${pathOf(id)}/${action}` });

async function untilFinished(options: AdminOptions, begun: ShownJob): Promise<ShownJob> {
  const report = progressBar();
  let job = begun;
  while (job.finished === null) {
    report({ step: job.kind, ...job.progress });
    await sleep(LOOK_MS);
    job = await askAdmin<ShownJob>(options, { method: 'GET', path: pathOf(job.id) });
  }
  report(null);
  return job;
}

const row = ({ id, kind, subject, status, progress, requested, error }: ShownJob): (string | null)[] => [
  id,
  kind,
  subject === null ? null : (subject.name ?? subject.id),
  status,
  `${progress.done}${progress.total === null ? '' : ` of ${progress.total}`}`,
  requested,
  error,
];
