import type { Command } from 'commander';
import { shardOption } from './options.ts';

/** Adds `laurel rebuild`. */
export function addRebuild(laurel: Command): void {
  laurel
    .command('rebuild')
    .description('Rebuild Redis from Postgres; a running Laurel answers 503 until it is done')
    .addOption(shardOption('rebuild'))
    .option('--accept-loss', 'go on with a Postgres that came back older, without what it lacks')
    // What it needs is loaded when it is wanted: other commands start in a third of the time.
    .action(async ({ acceptLoss = false, shard: shards }: { acceptLoss?: boolean; shard?: number[] }) =>
      (await import('./run-rebuild.ts')).runRebuild({ acceptLoss, ...(shards && { shards }) }),
    );
}
