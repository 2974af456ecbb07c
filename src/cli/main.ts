import { reportUncaught } from '../telemetry/log.ts';
import { EXIT } from './command.ts';
import { runProgram } from './program.ts';

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
void runProgram();
