import { Command, CommanderError } from 'commander';
import { lastWords } from '../telemetry/log.ts';
import { version } from '../version.ts';
import { withAdminOptionsAnywhere } from './admin-api.ts';
import { addClock } from './clock.ts';
import { addConfig } from './config.ts';
import { addConsole } from './console.ts';
import { addDeadLetters, addEvents, addRecompute } from './corrections.ts';
import { addDoctor, addMigrate, addRebuild, addVerify } from './doctor.ts';
import { addImport } from './import.ts';
import { addJobs, addTenants } from './jobs.ts';
import { addKeys } from './keys.ts';
import { addMcp } from './mcp.ts';
import { addMessages } from './messages.ts';
import { CommandError, examples, EXIT } from './command.ts';
import { addSend } from './send.ts';
import { addLoad } from './load.ts';
import { addShadow } from './shadow.ts';
import { addUsers } from './users.ts';
import { addWebhooks } from './webhooks.ts';

const ENVIRONMENT = `
Environment:
  ADMIN_URL, LAUREL_KEY       the Admin API and its key, for commands with --url and --key; ADMIN_API_KEY if LAUREL_KEY is not set
  REDIS_URL, DATABASE_URL     for doctor, verify and rebuild, as for the server`;

export function createProgram(): Command {
  const laurel = new Command('laurel')
    .description('Work with a running Laurel, or with its databases.')
    .version(version(), '-V, --version')
    .showHelpAfterError('(--help shows the options)')
    .addHelpText('after', ENVIRONMENT)
    .addHelpText('after', examples('doctor', 'send events.jsonl', 'config pull laurel.json', 'users timeline ada'))
    .exitOverride();
  withAdminOptionsAnywhere(laurel);
  for (const add of [
    addClock,
    addConfig,
    addConsole,
    addDeadLetters,
    addDoctor,
    addEvents,
    addImport,
    addJobs,
    addKeys,
    addLoad,
    addTenants,
    addMcp,
    addMessages,
    addMigrate,
    addRebuild,
    addRecompute,
    addSend,
    addShadow,
    addUsers,
    addVerify,
    addWebhooks,
  ])
    add(laurel);
  return laurel;
}

/** Adds `laurel completion <shell>` and the hidden `laurel complete`. The library is loaded only for these two. */
async function addCompletion(laurel: Command, command: string | undefined): Promise<void> {
  if (command === 'completion' || command === 'complete') {
    const { default: complete } = await import('@bomb.sh/tab/commander');
    complete(laurel, { completionCommandName: 'completion' });
    return;
  }
  laurel
    .command('completion')
    .description('print the completion script of a shell: bash, zsh or fish')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText(
      'after',
      `${examples('completion bash > ~/.local/share/bash-completion/completions/laurel')}
  laurel completion zsh > "\${fpath[1]}/_laurel"
  laurel completion fish > ~/.config/fish/completions/laurel.fish`,
    );
}

/** Runs the command of `process.argv`. Sets the exit code if the command fails, after it has written why to standard error. */
export async function runProgram(): Promise<void> {
  try {
    const laurel = createProgram();
    await addCompletion(laurel, process.argv[2]);
    await laurel.parseAsync(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the message. Help and the version are not failures.
      process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.failed;
    } else {
      console.error(lastWords(error));
      process.exitCode = error instanceof CommandError ? error.exitCode : EXIT.failed;
    }
  }
}
