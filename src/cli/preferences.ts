import { type Command, InvalidArgumentError, Option } from 'commander';
import { type MessageKind, MESSAGE_KINDS } from '../domain/notifications/message-variables.ts';
import { MEDIA, type Medium } from '../domain/notifications/medium.ts';
import type { UserPreferencesResponse } from '../domain/notifications/preferences.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { examples, print, tableText } from './command.ts';

type Notify = Partial<Record<MessageKind, Medium[]>>;

interface PreferencesOptions extends AdminOptions {
  appUrl: string;
  notify?: Notify;
}

/** Adds `laurel users preferences`. The operation is one of the Application API, which takes admin keys, too. */
export function addPreferences(users: Command): void {
  withAdminOptions(users.command('preferences'))
    .description('which messages a user gets, and by which channels; with --notify, change it')
    .argument('<id>', 'of the user')
    .addOption(
      new Option('--app-url <url>', 'the Application API, instead of --url')
        .env('APP_URL')
        .default('http://localhost:8080'),
    )
    .addOption(
      new Option(
        '--notify <kind=channels>',
        `how messages of a kind are sent: ${MEDIA.join(',')} or none; may be given several times`,
      ).argParser(parseNotify),
    )
    .addHelpText(
      'after',
      `${examples(
        'users preferences ada',
        'users preferences ada --notify recap=none --notify streak_reminder=email,push',
      )}\n\nKinds: ${MESSAGE_KINDS.join(', ')}`,
    )
    .action(async (id: string, { notify, appUrl, ...options }: PreferencesOptions) => {
      const path = `/v1/users/${encodeURIComponent(id)}/preferences`;
      const application = { ...options, url: appUrl, urlOption: '--app-url' };
      const preferences = await askAdmin<UserPreferencesResponse>(
        application,
        notify === undefined ? { method: 'GET', path } : { method: 'PATCH', path, body: { notifications: notify } },
      );
      const rows = MESSAGE_KINDS.map((kind) => [kind, preferences.notifications[kind]?.join(', ') || 'none']);
      print(options.json, preferences, tableText(['KIND', 'CHANNELS'], rows));
    });
}

function parseNotify(text: string, before: Notify = {}): Notify {
  const [kind, list] = text.split('=', 2);
  if (!MESSAGE_KINDS.some((known) => known === kind))
    throw new InvalidArgumentError(`The kind must be one of: ${MESSAGE_KINDS.join(', ')}.`);
  const channels = list === 'none' ? [] : (list ?? '').split(',');
  if (!channels.every((channel): channel is Medium => MEDIA.some((known) => known === channel)))
    throw new InvalidArgumentError(`After the kind comes = and ${MEDIA.join(' or ')}, both with a comma, or none.`);
  return { ...before, [kind as MessageKind]: channels };
}
