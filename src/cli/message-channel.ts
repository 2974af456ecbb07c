import type { Command } from 'commander';
import type {
  MessageChannel,
  MessageReadiness,
  MessageTestResult,
  SentMessageChannel,
} from '../domain/notifications/message-channel.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { confirmed, examples, EXIT, print, tableText } from './command.ts';
import { readDocument } from './config.ts';

const CHANNEL = '/v1/messages/channel';

/** Adds `laurel messages channel`: how a tenant's e-mails are sent. */
export function addChannel(messages: Command): void {
  const channel = messages.command('channel').description('the mail server or provider through which e-mails are sent');
  for (const add of [addShow, addSet, addTest, addDelete]) add(channel);
}

function addShow(channel: Command): void {
  withAdminOptions(channel.command('show'))
    .description('show the channel, without its password, and what keeps it from sending')
    .addHelpText('after', examples('messages channel show', 'messages channel show --json > channel.json'))
    .action(async (options: AdminOptions) => {
      const shown = await askAdmin<MessageChannel>(options, { method: 'GET', path: CHANNEL });
      const readiness = await askAdmin<MessageReadiness>(options, { method: 'GET', path: '/v1/messages/readiness' });
      print(options.json, shown, channelText(shown));
      for (const line of obstacles(shown, readiness)) process.stderr.write(`${line}\n`);
    });
}

const channelText = (channel: MessageChannel): string =>
  tableText(
    ['FIELD', 'VALUE'],
    Object.entries(channel).map(([name, value]) => [
      name,
      value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  );

/** Why no e-mails are sent, and what to do. */
function obstacles({ enabled }: MessageChannel, { publicUrl, opensPassword }: MessageReadiness): string[] {
  return [
    ...(enabled ? [] : ['The channel is disabled: no e-mails fall due. Set "enabled": true.']),
    ...(publicUrl === null ? ['No e-mails are sent: set the variable PUBLIC_URL of the server.'] : []),
    ...(opensPassword === false
      ? ['The password cannot be decrypted: give the server its previous SECRETS_KEY, or set the password again.']
      : []),
  ];
}

function addSet(channel: Command): void {
  withAdminOptions(channel.command('set'))
    .description('set the channel as a whole; without a password in the file, the stored one stays')
    .argument(
      '<file>',
      'JSON, as `laurel messages channel show --json` prints it, and `password`; `-` is standard input',
    )
    .addHelpText(
      'after',
      `${examples('messages channel set channel.json')}

A file: {"host":"smtp.example.com","port":587,"security":"starttls","username":"laurel","password":"…","senderAddress":"hello@example.com"}`,
    )
    .action(async (file: string, options: AdminOptions) => {
      const body = (await readDocument(file)) as SentMessageChannel;
      const stored = await askAdmin<MessageChannel>(options, { method: 'PUT', path: CHANNEL, body });
      print(options.json, stored, `${channelText(stored)}Test it: laurel messages channel test you@example.com\n`);
    });
}

function addTest(channel: Command): void {
  withAdminOptions(channel.command('test'))
    .description('send a test e-mail through the channel; exit code 1 unless the mail server takes it')
    .argument('<address>', 'who gets it')
    .addHelpText('after', examples('messages channel test you@example.com'))
    .action(async (to: string, options: AdminOptions) => {
      const request = { method: 'POST', path: `${CHANNEL}/test`, body: { to } } as const;
      const result = await askAdmin<MessageTestResult>(options, request);
      const { outcome, reason } = result;
      print(options.json, result, `${reason === null ? outcome : `${outcome}: ${reason}`}\n`);
      if (outcome !== 'sent') process.exitCode = EXIT.differs;
    });
}

function addDelete(channel: Command): void {
  withAdminOptions(channel.command('delete'))
    .description('delete the channel; e-mails that wait are dropped')
    .option('-y, --yes', 'delete without asking')
    .addHelpText('after', examples('messages channel delete --yes'))
    .action(async ({ yes = false, ...options }: AdminOptions & { yes?: boolean }) => {
      if (!yes) await confirmed('Delete the channel? E-mails that wait are dropped.', 'this drops e-mails that wait');
      await askAdmin(options, { method: 'DELETE', path: CHANNEL });
      print(options.json, { deleted: true }, 'Deleted.\n');
    });
}
