import { type Command, Option } from 'commander';
import type { AdminIssue } from '../domain/administration/admin.ts';
import { KEY_SCOPES } from '../domain/administration/author.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { CommandError, examples, print } from './command.ts';

interface Options extends AdminOptions {
  user?: string;
  scope?: string;
  expires?: string;
  admin?: string;
  read?: boolean;
  only?: string;
}

interface Answer {
  created: { key: string }[];
  issues: AdminIssue[];
}

/** Adds `laurel keys create`. */
export function addKeys(laurel: Command): void {
  const keys = laurel.command('keys').description('keys for users and for administrators');
  withAdminOptions(keys.command('create'))
    .description('create a key and print it: it is shown only once')
    .option('--user <id>', 'an application key, for the app of this user')
    .addOption(new Option('--scope <scope>', 'what the application key may do; all by default').choices(KEY_SCOPES))
    .option('--expires <time>', 'from when on the application key is refused (ISO 8601); never by default')
    .option('--admin <name>', 'an admin key with this name, for your server or a colleague')
    .option('--read', 'the admin key may only read')
    .option('--only <tenant>', 'the admin key is for this tenant alone')
    .addHelpText(
      'after',
      examples(
        'keys create --user ada',
        'keys create --admin "Support" --read',
        'LAUREL_KEY=$(laurel keys create --admin "CI")',
      ),
    )
    .action(create);
}

async function create(options: Options): Promise<void> {
  const { user, scope, expires, admin, read, only } = options;
  if ((user === undefined) === (admin === undefined))
    throw new CommandError('Give --user for an application key, or --admin for an admin key.');
  if (user === undefined && (scope ?? expires) !== undefined)
    throw new CommandError('--scope and --expires are of application keys, with --user.');
  if (admin === undefined && (read ?? only) !== undefined)
    throw new CommandError('--read and --only are of admin keys, with --admin.');
  const body =
    user !== undefined
      ? [{ userId: user, ...(scope && { scope }), ...(expires && { expiresAt: expires }) }]
      : [{ name: admin, ...(read && { access: 'read' }), ...(only && { tenantId: only }) }];
  const path = user === undefined ? '/v1/admin-api-keys' : '/v1/application-api-keys';
  const { created, issues } = await askAdmin<Answer>(options, { method: 'POST', path, body });
  const [key] = created;
  if (key === undefined)
    throw new CommandError(`No key was created: ${issues.map(({ message }) => message).join('; ')}`);
  print(options.json, key, `${key.key}\n`);
}
