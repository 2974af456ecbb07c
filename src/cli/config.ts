import type { Command } from 'commander';
import { addDiff } from './config/diff.ts';
import { addPull } from './config/pull.ts';
import { addPush } from './config/push.ts';

/** Adds `laurel config …`: the configuration of a running Laurel as a file. */
export function addConfig(laurel: Command): void {
  const config = laurel
    .command('config')
    .description('The configuration of a running Laurel as a file, to be kept in git');
  for (const add of [addPull, addDiff, addPush]) add(config);
}
