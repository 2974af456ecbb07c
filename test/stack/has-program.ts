import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whether the PATH has a program. */
export const hasProgram = (name: string): Promise<boolean> =>
  run('sh', ['-c', `command -v ${name}`]).then(
    () => true,
    () => false,
  );
