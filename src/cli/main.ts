import { CommanderError } from 'commander';
import { lastWords, reportUncaught } from '../telemetry/log.ts';
import { CommandError, EXIT } from './command.ts';
import { addCompletion, createProgram } from './program.ts';

async function main(): Promise<void> {
  const laurel = createProgram();
  await addCompletion(laurel, process.argv[2]);
  await laurel.parseAsync(process.argv);
}

/**
 * `laurel … | head` closes standard output early. The command goes on without it: what it has begun to change is
 * finished.
 */
function withoutReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.exitCode = EXIT.failed;
  console.error(`Standard output cannot be written: ${error.message}`);
}

process.stdout.on('error', withoutReader);
reportUncaught();
main().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    // Commander has already printed the message. Help and the version are not failures.
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.failed;
  } else {
    console.error(lastWords(error));
    process.exitCode = error instanceof CommandError ? error.exitCode : EXIT.failed;
  }
});
