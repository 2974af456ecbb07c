import { Argument, type Command, Option } from 'commander';
import type { Configuration } from '../domain/configuration.ts';
import type {
  KindPushTemplate,
  KindTemplate,
  MessagePreview,
  PushPreview,
  UnsubscribePreview,
} from '../domain/notifications/message-settings.ts';
import type { Message, MessageTestResult, SuppressedAddress } from '../domain/notifications/message-channel.ts';
import type { PushTestResults } from '../domain/notifications/push-channel.ts';
import type { PushTemplate } from '../domain/notifications/push-template.ts';
import type { MessageTemplate } from '../domain/notifications/message-template.ts';
import { comparableLocale, MESSAGE_KINDS, type MessageKind } from '../domain/notifications/message-variables.ts';
import { withAdminOptions, type AdminOptions, askAdmin, askEntries, withEach } from './admin-api.ts';
import { CommandError, examples, print, tableText, wholeNumber } from './command.ts';
import { readDocument } from './config.ts';
import { addChannel } from './message-channel.ts';

export function addMessages(laurel: Command): void {
  const messages = laurel.command('messages').description('e-mails and push notifications that Laurel sends');
  for (const add of [addList, addSuppressed, addAllow, addChannel, addPreview, addUnsubscribePage, addTest])
    add(messages);
}

const SHOWN = 50;

interface ListOptions extends AdminOptions {
  user?: string;
  kind?: MessageKind;
  status?: string;
  limit: number;
}

const limitOption = new Option('--limit <n>', 'how many at most').argParser(wholeNumber).default(SHOWN);

function addList(messages: Command): void {
  withAdminOptions(messages.command('list'))
    .description('the log of messages, newest first: what was sent, or why not')
    .option('--user <id>', 'only to this user')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(MESSAGE_KINDS))
    .option('--status <status>', 'only with this status, such as sent, failed or dropped')
    .addOption(limitOption)
    .addHelpText('after', examples('messages list --user ada', 'messages list --status failed --limit 10'))
    .action(async ({ user: userId, kind, status, limit, ...options }: ListOptions) => {
      const query = { userId, kind, status, limit };
      const logged = await askEntries<Message>(options, '/v1/messages', 'messages', query);
      const rows = logged.map((one) => [one.at, one.userId, one.kind, one.medium, one.status, one.reason]);
      const head = ['DUE', 'USER', 'KIND', 'BY', 'STATUS', 'REASON'];
      print(options.json, logged, rows.length === 0 ? 'No message is in the log.\n' : tableText(head, rows));
    });
}

const SUPPRESSED = '/v1/messages/suppressed';

function addSuppressed(messages: Command): void {
  withAdminOptions(messages.command('suppressed'))
    .description('addresses that get no e-mails, because they bounced or complained')
    .addOption(limitOption)
    .addHelpText('after', examples('messages suppressed'))
    .action(async ({ limit, ...options }: AdminOptions & { limit: number }) => {
      const all = await askEntries<SuppressedAddress>(options, SUPPRESSED, 'addresses', { limit });
      const rows = all.map(({ address, userId, at, reason }) => [address, userId, at, reason]);
      const text =
        rows.length === 0 ? 'No address is suppressed.\n' : tableText(['ADDRESS', 'USER', 'SINCE', 'REASON'], rows);
      print(options.json, all, text);
    });
}

function addAllow(messages: Command): void {
  withAdminOptions(messages.command('allow'))
    .description('allow e-mails to suppressed addresses again; exit code 1 if one was not suppressed')
    .argument('<address...>', 'of `laurel messages suppressed`')
    .addHelpText('after', examples('messages allow ada@example.com', 'messages allow ada@example.com bob@example.com'))
    .action(async (addresses: string[], options: AdminOptions) => {
      const allowed = await withEach(addresses, async (address) => {
        await askAdmin(options, { method: 'DELETE', path: `${SUPPRESSED}/${encodeURIComponent(address)}` });
        if (options.json !== true) process.stdout.write(`${address}  allowed\n`);
        return address;
      });
      print(options.json, { allowed }, '');
    });
}

function addUnsubscribePage(messages: Command): void {
  withAdminOptions(messages.command('unsubscribe-page'))
    .description('the HTML of the page that the link to unsubscribe of a user leads to')
    .argument('<user>', "the user's ID")
    .addArgument(new Argument('<kind>', 'the kind of message').choices(MESSAGE_KINDS))
    .option('--done', 'the page after the button was pressed')
    .addHelpText('after', examples('messages unsubscribe-page ada recap > page.html'))
    .action(async (userId: string, kind: MessageKind, { done, ...options }: AdminOptions & { done?: boolean }) => {
      const request = { method: 'POST', path: '/v1/messages/preview/unsubscribe', body: { userId, kind } } as const;
      const page = await askAdmin<UnsubscribePreview>(options, request);
      print(options.json, page, `${done === true ? page.done : page.question}\n`);
    });
}

interface PreviewOptions extends AdminOptions {
  file?: string;
  locale?: string;
  html?: boolean;
  push?: boolean;
}

function addPreview(messages: Command): void {
  withAdminOptions(messages.command('preview'))
    .description('a message with the figures of a user (personal data); nothing is sent')
    .argument('<user>', "the user's ID")
    .addArgument(new Argument('<kind>', 'the kind of message').choices(MESSAGE_KINDS))
    .option('--file <file>', 'a configuration document with the template, instead of the configuration in force')
    .option('--locale <locale>', 'with --file: the locale of the template')
    .option('--html', 'print only the HTML')
    .option('--push', 'a push notification instead of an e-mail')
    .addHelpText(
      'after',
      examples(
        'messages preview ada streak_reminder',
        'messages preview ada recap --html > recap.html',
        'messages preview ada recap --file laurel.json --locale de',
        'messages preview ada recap --push',
      ),
    )
    .action(async (userId: string, kind: MessageKind, options: PreviewOptions) => {
      if (options.locale !== undefined && options.file === undefined)
        throw new CommandError('--locale needs --file: otherwise the user has a locale.');
      if (options.push) {
        if (options.html) throw new CommandError('--html cannot be combined with --push.');
        return previewPush(userId, kind, options);
      }
      const template = options.file === undefined ? undefined : await templateIn(options.file, kind, options.locale);
      const body = { userId, kind, ...(template && { template }) };
      const previewed = await askAdmin<MessagePreview>(options, { method: 'POST', path: '/v1/messages/preview', body });
      if (options.html && !options.json) process.stdout.write(`${previewed.html}\n`);
      else print(options.json, previewed, `Subject: ${previewed.subject}\n\n${previewed.text}\n`);
    });
}

async function previewPush(userId: string, kind: MessageKind, options: PreviewOptions): Promise<void> {
  const { file, locale } = options;
  const template = file === undefined ? undefined : await pushTemplateIn(file, kind, locale);
  const body = { userId, kind, ...(template && { template }) };
  const path = '/v1/messages/preview/push';
  const previewed = await askAdmin<PushPreview>(options, { method: 'POST', path, body });
  const opens = previewed.url === null ? '' : `\nOpens: ${previewed.url}`;
  print(options.json, previewed, `${previewed.title}\n\n${previewed.body}\n${opens}`);
}

interface TestOptions extends AdminOptions {
  file?: string;
  locale?: string;
  to?: string;
  token?: string;
  toUser?: string;
}

function addTest(messages: Command): void {
  withAdminOptions(messages.command('test'))
    .description('sends a message with the figures of a user (personal data) to you, marked as a test')
    .argument('<user>', 'the ID of the user with the figures, who gets nothing')
    .addArgument(new Argument('<kind>', 'the kind of message').choices(MESSAGE_KINDS))
    .option('--to <address>', 'an e-mail to this address')
    .option('--token <token>', 'a push notification to the device with this token')
    .option('--to-user <id>', 'a push notification to the devices of this user')
    .option('--file <file>', 'a configuration document with the template, instead of the configuration in force')
    .option('--locale <locale>', 'with --file: the locale of the template')
    .addHelpText(
      'after',
      examples(
        'messages test ada streak_reminder --to you@example.com',
        'messages test ada streak_reminder --to-user you --file laurel.json',
      ),
    )
    .action(async (userId: string, kind: MessageKind, options: TestOptions) => {
      const { to, token, toUser, file, locale } = options;
      if ([to, token, toUser].filter((each) => each !== undefined).length !== 1)
        throw new CommandError('Give one of --to, --token and --to-user.');
      if (locale !== undefined && file === undefined)
        throw new CommandError('--locale needs --file: otherwise the user has a locale.');
      const path = to === undefined ? '/v1/messages/test/push' : '/v1/messages/test';
      const templateOf = to === undefined ? pushTemplateIn : templateIn;
      const template = file === undefined ? undefined : await templateOf(file, kind, locale);
      const body = { userId, kind, to, token, toUserId: toUser, template };
      const answer = await askAdmin<MessageTestResult | PushTestResults>(options, { method: 'POST', path, body });
      const results = 'devices' in answer ? answer.devices : [answer];
      const lines = results.map(({ outcome, reason }) => (reason === null ? outcome : `${outcome}: ${reason}`));
      print(options.json, answer, `${lines.join('\n')}\n`);
      // A script must notice that nothing arrives.
      if (results.every(({ outcome }) => outcome !== 'sent')) process.exitCode = 1;
    });
}

/** The template of a kind and locale in a document. Ends the command if there is none. */
async function templateIn(file: string, kind: MessageKind, locale?: string): Promise<MessageTemplate> {
  const { messages } = (await readDocument(file)) as Configuration;
  const { subject, html, text } = templateAmong<KindTemplate>(messages?.templates, { file, kind, locale });
  return { subject, html, text };
}

async function pushTemplateIn(file: string, kind: MessageKind, locale?: string): Promise<PushTemplate> {
  const { messages } = (await readDocument(file)) as Configuration;
  const { title, body, url } = templateAmong<KindPushTemplate>(messages?.pushTemplates, { file, kind, locale });
  return { title, body, ...(url !== undefined && { url }) };
}

function templateAmong<T extends { kind: MessageKind; locale?: string }>(
  templates: readonly T[] | undefined,
  { file, kind, locale }: { file: string; kind: MessageKind; locale: string | undefined },
): T {
  const wantedLocale = locale === undefined ? undefined : comparableLocale(locale);
  const match = templates?.find(
    (template) =>
      template.kind === kind &&
      (template.locale === undefined ? undefined : comparableLocale(template.locale)) === wantedLocale,
  );
  if (match !== undefined) return match;
  const which = wantedLocale ? `for ${locale}` : 'without a locale';
  throw new CommandError(`${file} has no template of the kind ${kind} ${which}.`);
}
