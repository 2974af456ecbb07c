import type { Command } from 'commander';
import { shardOption } from './options.ts';

/** Adds `laurel verify`: exit code 0 without differences, 1 with some. */
export function addVerify(laurel: Command): void {
  laurel
    .command('verify')
    .description('Compare what Redis holds with Postgres, key by key; events may go on meanwhile')
    .addOption(shardOption('compare'))
    // What it needs is loaded when it is wanted: other commands start in a third of the time.
    .action(async ({ shard: shards }: { shard?: number[] }) =>
      (await import('./run-verify.ts')).runVerify(shards === undefined ? {} : { shards }),
    );
}
