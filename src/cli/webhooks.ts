import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShownWebhookDelivery, WebhookDelivery, WebhookResend } from '../domain/notifications/webhook.ts';
import { withAdminOptions, type AdminOptions, askAdmin, askEntries, withEach } from './admin-api.ts';
import { CommandError, examples, EXIT, jsonText, print, progressBar, tableText, wholeNumber } from './command.ts';

export function addWebhooks(laurel: Command): void {
  const webhooks = laurel.command('webhooks').description('webhooks and their deliveries');
  for (const add of [addList, addDeliveries, addResend, addTest, addRotate]) add(webhooks);
}

function addList(webhooks: Command): void {
  withAdminOptions(webhooks.command('list'))
    .description('list webhooks, oldest first')
    .addHelpText('after', examples('webhooks list'))
    .action(async (options: AdminOptions) => {
      const all = await allWebhooks(options);
      const rows = all.map(({ id, name, enabled, events, url }) => [
        id,
        name,
        enabled ? 'enabled' : 'disabled',
        events.length,
        url,
      ]);
      const head = ['ID', 'NAME', 'STATE', 'EVENTS', 'URL'];
      print(options.json, all, all.length === 0 ? 'There are no webhooks.\n' : tableText(head, rows));
    });
}

const SHOWN = 50;

interface LogOptions extends AdminOptions {
  status?: string;
  type?: string;
  user?: string;
  from?: string;
  to?: string;
  limit: number;
}

function addDeliveries(webhooks: Command): void {
  withAdminOptions(webhooks.command('deliveries'))
    .description(
      'the log of a webhook, newest first; with an ID, one message as JSON with its payload (personal data) and attempts',
    )
    .argument('<webhook>', 'ID or name')
    .argument('[id]', 'of one message')
    .option('--status <status>', 'pending, delivered or failed')
    .option('--type <type>', 'only messages of this type')
    .option('--user <id>', 'only messages about this user')
    .option('--from <time>', 'only messages made from then on')
    .option('--to <time>', 'only messages made before then')
    .option('--limit <n>', 'how many at most', wholeNumber, SHOWN)
    .addHelpText(
      'after',
      examples(
        'webhooks deliveries crm --status failed',
        'webhooks deliveries crm 01939d3c-8f10-7000-8000-000000000001',
      ),
    )
    .action(async (webhook: string, id: string | undefined, options: LogOptions) => {
      const path = `${await webhookPath(options, webhook)}/deliveries`;
      if (id !== undefined) {
        const one = await askAdmin(options, { method: 'GET', path: `${path}/${encodeURIComponent(id)}` });
        process.stdout.write(jsonText(one));
        return;
      }
      const { status, type, user: userId, from, to, limit } = options;
      const query = { status, type, userId, from, to, limit };
      const deliveries = await askEntries<WebhookDelivery>(options, path, 'deliveries', query);
      print(options.json, deliveries, textOf(deliveries));
    });
}

const HEAD = ['ID', 'MADE', 'TYPE', 'USER', 'STATE', 'TRIES', 'ANSWER', 'NEXT TRY'];

function textOf(list: WebhookDelivery[]): string {
  if (list.length === 0) return 'No message is in the log.\n';
  const rows = list.map(({ id, created, type, userId, status, test, tries, lastStatus, nextTry }) => [
    id,
    created,
    test ? `${type} (test)` : type,
    userId,
    status,
    tries,
    lastStatus,
    nextTry,
  ]);
  return tableText(HEAD, rows);
}

const LOOK_MS = 1_000;

interface ResendOptions extends AdminOptions {
  all?: boolean;
  status?: string;
  type?: string[];
  from?: string;
  to?: string;
  wait?: boolean;
}

function addResend(webhooks: Command): void {
  withAdminOptions(webhooks.command('resend'))
    .description('send messages again: the named ones, or with --all those that failed')
    .argument('<webhook>', 'ID or name')
    .argument('[id...]', 'of messages')
    .option('--all', 'all that failed, or that the other options select')
    .option('--status <status>', 'failed or delivered')
    .option('--type <type...>', 'only messages of these types')
    .option('--from <time>', 'only messages made from then on')
    .option('--to <time>', 'only messages made before then')
    .option('--wait', 'end when all are queued')
    .addHelpText(
      'after',
      examples(
        'webhooks resend crm --all --from 2026-03-01T00:00:00Z --wait',
        'webhooks resend crm 01939d3c-8f10-7000-8000-000000000001',
      ),
    )
    .action(async (webhook: string, ids: string[], options: ResendOptions) => {
      if (ids.length > 0 === (options.all === true))
        throw new CommandError('Name the messages to send again, or give --all.');
      const path = await webhookPath(options, webhook);
      await (ids.length > 0 ? resendThose(options, path, ids) : resendAll(options, path));
    });
}

async function resendThose(options: ResendOptions, path: string, ids: string[]): Promise<void> {
  const queued = await withEach(ids, async (id) => {
    const request = { method: 'POST', path: `${path}/deliveries/${encodeURIComponent(id)}/resend` } as const;
    const delivery = await askAdmin(options, request);
    if (options.json !== true) process.stdout.write(`${id}  queued\n`);
    return delivery;
  });
  if (options.json === true) process.stdout.write(jsonText(queued));
}

async function resendAll(options: ResendOptions, path: string): Promise<void> {
  const { status, type: types, from, to, wait } = options;
  const answer = await askAdmin(options, { method: 'POST', path: `${path}/resend`, body: { status, types, from, to } });
  let resend = answer as WebhookResend;
  const report = progressBar();
  while (wait === true && resend.finished === null) {
    await sleep(LOOK_MS);
    const all = await askAdmin<WebhookResend[]>(options, { method: 'GET', path: `${path}/resends` });
    resend = all.find(({ id }) => id === resend.id) ?? resend;
    report({ step: 'queued', done: resend.resent, total: resend.total });
  }
  report(null);
  print(options.json, resend, progressOf(resend));
}

const progressOf = ({ id, resent, total, finished }: WebhookResend): string =>
  `${id}  ${resent}${total === null ? '' : ` of ${total}`} queued${finished === null ? ', goes on' : ''}\n`;

/** Adds `laurel webhooks test <webhook> <type>`. Exit code 1 unless it is delivered within some seconds. */
function addTest(webhooks: Command): void {
  withAdminOptions(webhooks.command('test'))
    .description('send the example message of a type; exit code 1 unless it is delivered')
    .argument('<webhook>', 'ID or name')
    .argument('<type>', 'e.g. points.changed')
    .addHelpText('after', examples('webhooks test crm points.changed'))
    .action(async (webhook: string, type: string, options: AdminOptions) => {
      const path = `${await webhookPath(options, webhook)}/test`;
      const delivery = await askAdmin<ShownWebhookDelivery>(options, { method: 'POST', path, body: { type } });
      print(options.json, delivery, outcomeOf(delivery));
      if (delivery.status !== 'delivered') process.exitCode = EXIT.differs;
    });
}

function outcomeOf({ id, status, attempts, reason }: ShownWebhookDelivery): string {
  const last = attempts.at(-1);
  if (last === undefined) return `${id}  ${reason ?? 'was not tried yet: is a worker running?'}\n`;
  if (status === 'delivered') return `${id}  delivered: ${last.status} in ${last.durationMs} ms\n`;
  return `${id}  not delivered: ${last.error}${status === 'pending' ? '; it is tried again' : ''}\n`;
}

interface Rotated {
  id: string;
  secret: string;
  previousUntil: string | null;
}

function addRotate(webhooks: Command): void {
  withAdminOptions(webhooks.command('rotate'))
    .description('create a new secret and show it once; the previous one stays valid for 24 hours')
    .argument('<webhook>', 'ID or name')
    .addHelpText('after', examples('webhooks rotate crm'))
    .action(async (webhook: string, options: AdminOptions) => {
      const path = `${await webhookPath(options, webhook)}/rotate-secret`;
      const rotated = await askAdmin<Rotated>(options, { method: 'POST', path });
      print(options.json, rotated, `${rotated.secret}\n`);
      if (options.json !== true && rotated.previousUntil !== null)
        process.stderr.write(`The previous secret signs too until ${rotated.previousUntil}.\n`);
    });
}

interface ListedWebhook {
  id: string;
  name: string;
  url: string;
  events: string[];
  enabled: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** All webhooks of the tenant; they fit on one page. */
const allWebhooks = async (options: AdminOptions): Promise<ListedWebhook[]> =>
  await askAdmin<ListedWebhook[]>(options, { method: 'GET', path: '/v1/webhooks?limit=100' });

/** The path of a webhook given by ID or unique name. */
async function webhookPath(options: AdminOptions, given: string): Promise<string> {
  if (UUID.test(given)) return `/v1/webhooks/${given}`;
  const named = (await allWebhooks(options)).filter(({ name }) => name === given);
  const [only] = named;
  if (only === undefined)
    throw new CommandError(`There is no webhook called "${given}". \`laurel webhooks list\` lists them.`);
  if (named.length > 1) throw new CommandError(`${named.length} webhooks are called "${given}": give the ID of one.`);
  return `/v1/webhooks/${only.id}`;
}
