import { Argument, type Command } from 'commander';
import type { Configuration } from '../domain/configuration.ts';
import type { KindTemplate, MessagePreview } from '../domain/notifications/message-settings.ts';
import type { MessageTemplate } from '../domain/notifications/message-template.ts';
import { comparableLocale, MESSAGE_KINDS, type MessageKind } from '../domain/notifications/message-variables.ts';
import { withAdminOptions, type AdminOptions, askAdmin } from './admin-api.ts';
import { CommandError, examples, print } from './command.ts';
import { readDocument } from './config.ts';

export function addMessages(laurel: Command): void {
  const messages = laurel.command('messages').description('e-mails that Laurel sends');
  addPreview(messages);
}

interface PreviewOptions extends AdminOptions {
  file?: string;
  locale?: string;
  html?: boolean;
}

function addPreview(messages: Command): void {
  withAdminOptions(messages.command('preview'))
    .description('an e-mail with the figures of a user (personal data); nothing is sent')
    .argument('<user>', "the user's ID")
    .addArgument(new Argument('<kind>', 'the kind of e-mail').choices(MESSAGE_KINDS))
    .option('--file <file>', 'a configuration document with the template, instead of the configuration in force')
    .option('--locale <locale>', 'with --file: the locale of the template')
    .option('--html', 'print only the HTML')
    .addHelpText(
      'after',
      examples(
        'messages preview ada streak_reminder',
        'messages preview ada recap --html > recap.html',
        'messages preview ada recap --file laurel.json --locale de',
      ),
    )
    .action(async (userId: string, kind: MessageKind, options: PreviewOptions) => {
      if (options.locale !== undefined && options.file === undefined)
        throw new CommandError('--locale needs --file: otherwise the user has a locale.');
      const template = options.file === undefined ? undefined : await templateIn(options.file, kind, options.locale);
      const body = { userId, kind, ...(template && { template }) };
      const previewed = (await askAdmin(options, {
        method: 'POST',
        path: '/v1/messages/preview',
        body,
      })) as MessagePreview;
      if (options.html && !options.json) process.stdout.write(`${previewed.html}\n`);
      else print(options.json, previewed, `Subject: ${previewed.subject}\n\n${previewed.text}\n`);
    });
}

/** The template of a kind and locale in a document. Ends the command if there is none. */
async function templateIn(file: string, kind: MessageKind, locale?: string): Promise<MessageTemplate> {
  const { messages } = (await readDocument(file)) as Configuration;
  const wanted = locale === undefined ? undefined : comparableLocale(locale);
  const isWanted = (template: KindTemplate): boolean =>
    template.kind === kind &&
    (template.locale === undefined ? undefined : comparableLocale(template.locale)) === wanted;
  const found = messages?.templates?.find(isWanted);
  if (found === undefined)
    throw new CommandError(
      `${file} has no template of the kind ${kind} ${wanted ? `for ${locale}` : 'without a locale'}.`,
    );
  return { subject: found.subject, html: found.html, text: found.text };
}
