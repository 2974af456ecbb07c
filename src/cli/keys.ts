import { type Command, Option } from 'commander';
import type { AdminIssue, AdminKey, ApplicationKey, DeletedResources } from '../domain/administration/admin.ts';
import { KEY_SCOPES, parseApiKey } from '../domain/administration/author.ts';
import { counted } from '../domain/words.ts';
import { AdminRefusal, askAdmin, askSkipping, withAdminOptions, withEach, type AdminOptions } from './admin-api.ts';
import { CommandError, confirmed, examples, print, tableText, wholeNumber } from './command.ts';

/** Adds `laurel keys`. `--admin` selects admin keys; the commands are otherwise about application keys. */
export function addKeys(laurel: Command): void {
  const keys = laurel.command('keys').description('keys for users and for administrators');
  for (const add of [addList, addCreate, addDelete]) add(keys);
}

const APPLICATION_KEYS = '/v1/application-api-keys';
const ADMIN_KEYS = '/v1/admin-api-keys';
const SHOWN = 50;

interface ListOptions extends AdminOptions {
  user?: string;
  admin?: boolean;
  limit: number;
}

function addList(keys: Command): void {
  withAdminOptions(keys.command('list'))
    .description('list the application keys, or with --admin the admin keys, oldest first, without their secrets')
    .option('--user <id>', 'only the application keys of this user')
    .option('--admin', 'the admin keys')
    .option('--limit <n>', 'how many at most', wholeNumber, SHOWN)
    .addHelpText('after', examples('keys list', 'keys list --user ada', 'keys list --admin --json'))
    .action(async ({ user, admin = false, limit, ...options }: ListOptions) => {
      if (admin && user !== undefined) throw new CommandError('Admin keys belong to no user: give --user or --admin.');
      if (admin) {
        const list = await askSkipping<AdminKey>(options, ADMIN_KEYS, { limit });
        print(options.json, list, list.length === 0 ? 'There are no such keys.\n' : adminKeysText(list));
      } else {
        const list = await askSkipping<ApplicationKey>(options, APPLICATION_KEYS, { limit, userId: user });
        print(options.json, list, list.length === 0 ? 'There are no such keys.\n' : applicationKeysText(list));
      }
    });
}

const applicationKeysText = (keys: readonly ApplicationKey[]): string =>
  tableText(
    ['ID', 'KEY', 'USER', 'MAY', 'EXPIRES', 'CREATED', 'LAST USED'],
    keys.map(({ id, prefix, userId, scope, expiresAt, created, lastUsed }) => [
      id,
      prefix,
      userId,
      scope,
      expiresAt,
      created,
      lastUsed,
    ]),
  );

const adminKeysText = (keys: readonly AdminKey[]): string =>
  tableText(
    ['ID', 'KEY', 'NAME', 'STATE', 'MAY', 'TENANT', 'CREATED', 'LAST USED'],
    keys.map(({ id, prefix, name, status, access, tenantId, created, lastUsed }) => [
      id,
      prefix,
      name,
      status,
      access,
      tenantId,
      created,
      lastUsed,
    ]),
  );

interface CreateOptions extends AdminOptions {
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

function addCreate(keys: Command): void {
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

async function create(options: CreateOptions): Promise<void> {
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
  const path = user === undefined ? ADMIN_KEYS : APPLICATION_KEYS;
  const { created, issues } = await askAdmin<Answer>(options, { method: 'POST', path, body });
  const [key] = created;
  if (key === undefined)
    throw new CommandError(`No key was created: ${issues.map(({ message }) => message).join('; ')}`);
  print(options.json, key, `${key.key}\n`);
}

interface DeleteOptions extends AdminOptions {
  admin?: boolean;
  yes?: boolean;
}

/** Admin keys that are searched for the command's own. */
const MOST_SEARCHED = 10_000;

/** The ID of the admin key that the command itself uses; `null` if there is no such key. */
async function ownId(options: AdminOptions): Promise<string | null> {
  const own = parseApiKey(options.key ?? '');
  const keys = await askSkipping<AdminKey>(options, ADMIN_KEYS, { limit: MOST_SEARCHED });
  return keys.find(({ prefix }) => prefix === own?.prefix)?.id ?? null;
}

/** The status that stands for an issue of a deletion. */
const NOT_DELETED = 409;

function addDelete(keys: Command): void {
  withAdminOptions(keys.command('delete'))
    .description('delete application keys, or with --admin admin keys: they are refused from then on')
    .argument('<id...>', 'of the keys, as `laurel keys list` shows them')
    .option('--admin', 'the IDs are of admin keys')
    .option('-y, --yes', 'delete without asking')
    .addHelpText(
      'after',
      examples(
        'keys delete 01939d3c-8f10-7000-8000-000000000001',
        'keys delete --admin 01939d3c-8f10-7000-8000-000000000002 --yes',
      ),
    )
    .action(async (ids: string[], { admin = false, yes = false, ...options }: DeleteOptions) => {
      const own = admin ? await ownId(options) : null;
      const others = ids.filter((id) => id !== own);
      const usesOne = others.length < ids.length;
      const count = counted(ids.length, admin ? 'admin key' : 'application key');
      const what = usesOne ? `${count} (this command's own${ids.length > 1 ? ' among them' : ''})` : count;
      if (!yes) await confirmed(`Delete ${what}? Who uses them is refused from then on.`, `this deletes ${what}`);
      const deleted: string[] = [];
      try {
        // Its own key last: all that follow it would be refused.
        await withEach(usesOne ? [...others, own!] : ids, async (id) => {
          await deleteKey(options, admin ? ADMIN_KEYS : APPLICATION_KEYS, id);
          deleted.push(id);
        });
      } finally {
        // Also after an error: these deletions stay.
        const text = `Deleted ${counted(deleted.length, admin ? 'admin key' : 'application key')}.\n`;
        print(options.json, { deleted }, text);
      }
    });
}

/** Throws an `AdminRefusal` if the key stays, or there is no such key. */
async function deleteKey(options: AdminOptions, path: string, id: string): Promise<void> {
  const request = { method: 'DELETE', path: `${path}?ids=${encodeURIComponent(id)}` } as const;
  const { issues } = await askAdmin<DeletedResources>(options, request);
  if (issues.length > 0) throw new AdminRefusal(issues.map(({ message }) => message).join('; '), NOT_DELETED);
}
