import { Command, CommanderError } from 'commander';
import { lastWords, reportUncaught } from '../log/log.ts';
import { withAdminOptionsAnywhere } from './admin-api.ts';
import { CommandError, EXIT } from './command-error.ts';
import { addConfig } from './config.ts';
import { addDeadLetters } from './dead-letters.ts';
import { addEvents } from './events.ts';
import { addImport } from './import.ts';
import { addJobs } from './jobs.ts';
import { addRebuild } from './rebuild.ts';
import { addRecompute } from './recompute.ts';
import { addShadow } from './shadow.ts';
import { addUsers } from './users.ts';
import { addVerify } from './verify.ts';
import { addWebhooks } from './webhooks.ts';

/** What `laurel <command>` does: a command a file, which adds itself here. */
async function main(): Promise<void> {
  const laurel = new Command('laurel')
    .description('Work with a running Laurel, or with its databases.')
    .showHelpAfterError('(--help shows what there is)')
    .exitOverride();
  withAdminOptionsAnywhere(laurel);
  for (const add of [
    addConfig,
    addDeadLetters,
    addEvents,
    addImport,
    addJobs,
    addRebuild,
    addRecompute,
    addShadow,
    addUsers,
    addVerify,
    addWebhooks,
  ])
    add(laurel);
  await laurel.parseAsync(process.argv);
}

reportUncaught();
main().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    // Commander has said already what it is about; help that was asked for is no failure.
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.failed;
  } else {
    console.error(lastWords(error));
    process.exitCode = error instanceof CommandError ? error.exitCode : EXIT.failed;
  }
});
