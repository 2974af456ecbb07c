import { type Command, Option } from 'commander';
import { CommandError, examples, print } from './command.ts';

interface Options {
  url?: string;
  json?: boolean;
}

/** Adds `laurel console`: it needs no key, because it makes the link in Postgres, like a start. */
export function addConsole(laurel: Command): void {
  laurel
    .command('console')
    .description('print a link that signs in to the console, once, within 15 minutes')
    .addOption(
      new Option('--url <url>', 'the Admin API as your browser reaches it; by default on this machine').env(
        'ADMIN_URL',
      ),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', examples('console', 'console --url https://laurel.example.org'))
    .action(run);
}

/** Loads the database's driver only when needed. */
async function run({ url, json }: Options): Promise<void> {
  const [{ systemClock }, { readEnv }, { createPool }, { makeSignInToken }, { privatePostgres }] = await Promise.all([
    import('../clock.ts'),
    import('../settings/env.ts'),
    import('../postgres/pool.ts'),
    import('../postgres/access/sessions.ts'),
    import('../local/private-services.ts'),
  ]);
  const env = readEnv(process.env);
  const databaseUrl = env.databaseUrl ?? (await privatePostgres(env.dataDir));
  if (databaseUrl === null)
    throw new CommandError(
      `No Laurel runs with the data in ${env.dataDir}: start it, or set its DATABASE_URL or DATA_DIR.`,
    );
  const { addressOf } = await import('./admin-api.ts');
  const address = addressOf(url ?? `http://localhost:${env.adminPort}`, '/console');
  const pool = createPool(databaseUrl, { max: 1 });
  try {
    const token = await makeSignInToken(pool, systemClock.now()).catch((error: Error) => {
      throw new CommandError(`Postgres refuses a link: ${error.message}. Has Laurel been started with it?`);
    });
    if (token === null) throw new CommandError('There is no active admin key with full access.');
    const link = `${address.href}#token=${token}`;
    print(json, { link }, `${link}\n`);
  } finally {
    await pool.end();
  }
}
