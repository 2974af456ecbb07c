import type { Command } from 'commander';

/** Adds `laurel shards list`. */
export function addShardList(shards: Command): void {
  shards
    .command('list')
    .description('On which Redis each shard is, and whether it is whole')
    // What it needs is loaded when it is wanted: other commands start in a third of the time.
    .action(async () => (await import('./run-list.ts')).runShardList());
}
