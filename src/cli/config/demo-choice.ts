import type { DemoChoice, DemoResource } from '../../domain/configuration.ts';
import { agreed } from '../agreed.ts';
import { CommandError } from '../command-error.ts';

/** Options of `laurel config push`. */
export interface DemoFlags {
  removeDemo?: boolean;
  keepDemo?: boolean;
}

export const demoQuery = (choice: DemoChoice | undefined): string => (choice === undefined ? '' : `?demo=${choice}`);

/** What the options say about the demo; undefined: nothing. */
export function demoFlag({ removeDemo, keepDemo }: DemoFlags): DemoChoice | undefined {
  if (removeDemo && keepDemo) throw new CommandError('--remove-demo and --keep-demo exclude each other.');
  return removeDemo ? 'remove' : keepDemo ? 'keep' : undefined;
}

/**
 * Asks about the demo where a file does not name all of it; undefined: there is nothing to ask. Ends the command where nobody
 * can be asked, or the answer is no.
 */
export async function askAboutDemo(left: DemoResource[]): Promise<DemoChoice | undefined> {
  if (left.length === 0) return undefined;
  const demo = `The demo is configured here, and the file does not name ${left.length} of its resources.`;
  if (!process.stdin.isTTY)
    throw new CommandError(
      `Nothing was changed. ${demo} Say --remove-demo (the changes are then these), or --keep-demo to keep them as your own.`,
    );
  if (await agreed(`${demo} Remove them, as above? [y/N] `)) return 'remove';
  throw new CommandError('Nothing was changed. --keep-demo keeps them as your own.');
}
