import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { WebhookResend } from '../../domain/webhook-delivery.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { CommandError } from '../command-error.ts';
import { progressBar } from '../progress.ts';
import { jsonText } from '../table.ts';
import { webhookPath } from './webhook-path.ts';

const LOOK_MS = 1_000;

interface Options extends AdminOptions {
  all?: boolean;
  status?: string;
  type?: string[];
  from?: string;
  to?: string;
  wait?: boolean;
  json?: boolean;
}

/** Adds `laurel webhooks resend <webhook> [id…]`. */
export function addResend(webhooks: Command): void {
  withAdminOptions(webhooks.command('resend'))
    .description('send messages of the log again: those that are named, or with --all those that failed')
    .argument('<webhook>', 'ID or name')
    .argument('[id...]', 'of messages')
    .option('--all', 'all that failed, or that the other options select')
    .option('--status <status>', 'failed or delivered')
    .option('--type <type...>', 'only messages of these types')
    .option('--from <time>', 'only messages made from then on')
    .option('--to <time>', 'only messages made before then')
    .option('--wait', 'end when all are queued')
    .option('--json', 'as JSON')
    .action(async (webhook: string, ids: string[], options: Options) => {
      if (ids.length > 0 === (options.all === true))
        throw new CommandError('Name the messages to send again, or give --all.');
      const path = await webhookPath(options, webhook);
      await (ids.length > 0 ? resendThose(options, path, ids) : resendAll(options, path));
    });
}

async function resendThose(options: Options, path: string, ids: string[]): Promise<void> {
  const queued: unknown[] = [];
  for (const id of ids) {
    queued.push(
      await askAdmin(options, { method: 'POST', path: `${path}/deliveries/${encodeURIComponent(id)}/resend` }),
    );
    if (options.json !== true) process.stdout.write(`${id}  queued\n`);
  }
  if (options.json === true) process.stdout.write(jsonText(queued));
}

async function resendAll(options: Options, path: string): Promise<void> {
  const { status, type: types, from, to, wait, json } = options;
  const asked = await askAdmin(options, { method: 'POST', path: `${path}/resend`, body: { status, types, from, to } });
  let resend = asked as WebhookResend;
  const report = progressBar();
  while (wait === true && resend.finished === null) {
    await sleep(LOOK_MS);
    const all = (await askAdmin(options, { method: 'GET', path: `${path}/resends` })) as WebhookResend[];
    resend = all.find(({ id }) => id === resend.id) ?? resend;
    report({ step: 'queued', done: resend.resent, total: resend.total });
  }
  report(null);
  process.stdout.write(json === true ? jsonText(resend) : progressOf(resend));
}

const progressOf = ({ id, resent, total, finished }: WebhookResend): string =>
  `${id}  ${resent}${total === null ? '' : ` of ${total}`} queued${finished === null ? ', goes on' : ''}\n`;
