import type { Command } from 'commander';
import type { WebhookDeliveries, WebhookDelivery } from '../../domain/webhook-delivery.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from '../admin-api.ts';
import { jsonText, tableText } from '../table.ts';
import { wholeNumber } from '../whole-number.ts';
import { webhookPath } from './webhook-path.ts';

const PAGE = 100;
const SHOWN = 50;

interface Options extends AdminOptions {
  status?: string;
  type?: string;
  user?: string;
  from?: string;
  to?: string;
  limit: number;
  json?: boolean;
}

/** Adds `laurel webhooks deliveries <webhook> [id]`. */
export function addDeliveries(webhooks: Command): void {
  withAdminOptions(webhooks.command('deliveries'))
    .description(
      'the log of a webhook, newest first; of one message all as JSON: its payload (personal data too) and its tries',
    )
    .argument('<webhook>', 'ID or name')
    .argument('[id]', 'of one message')
    .option('--status <status>', 'pending, delivered or failed')
    .option('--type <type>', 'only messages of this type')
    .option('--user <id>', 'only messages about this user')
    .option('--from <time>', 'only messages made from then on')
    .option('--to <time>', 'only messages made before then')
    .option('--limit <n>', 'how many at most', wholeNumber, SHOWN)
    .option('--json', 'as JSON')
    .action(async (webhook: string, id: string | undefined, options: Options) => {
      const path = `${await webhookPath(options, webhook)}/deliveries`;
      if (id !== undefined) {
        const one = await askAdmin(options, { method: 'GET', path: `${path}/${encodeURIComponent(id)}` });
        process.stdout.write(jsonText(one));
        return;
      }
      const found = await deliveries(options, path);
      process.stdout.write(options.json === true ? jsonText(found) : textOf(found));
    });
}

/** The newest messages that fit, as many as are asked for. */
async function deliveries(options: Options, path: string): Promise<WebhookDelivery[]> {
  const { status, type, user: userId, from, to, limit } = options;
  const given = Object.entries({ status, type, userId, from, to }).filter(([, value]) => value !== undefined);
  const found: WebhookDelivery[] = [];
  for (let cursor: string | null = ''; cursor !== null && found.length < limit;) {
    const query = new URLSearchParams(given as [string, string][]);
    query.set('limit', String(Math.min(PAGE, limit - found.length)));
    if (cursor !== '') query.set('cursor', cursor);
    const page = (await askAdmin(options, { method: 'GET', path: `${path}?${query.toString()}` })) as WebhookDeliveries;
    found.push(...page.deliveries);
    cursor = page.nextCursor;
  }
  return found;
}

const HEAD = ['ID', 'MADE', 'TYPE', 'USER', 'STATE', 'TRIES', 'ANSWER', 'NEXT TRY'];

function textOf(found: WebhookDelivery[]): string {
  if (found.length === 0) return 'No message is in the log.\n';
  const rows = found.map(({ id, created, type, userId, status, test, tries, lastStatus, nextTry }) => [
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
