import { Argument, type Command } from 'commander';
import { SHARDS } from '../../redis/keys.ts';
import { parseShards } from '../options.ts';

/** Adds `laurel shards move`. */
export function addShardMove(shards: Command): void {
  shards
    .command('move')
    .description(
      'Move shards to another Redis, one after another; the tenants of each are answered 503 for some seconds, nobody else is',
    )
    .addArgument(new Argument('<shards...>', `their numbers (0 to ${SHARDS - 1})`).argParser(parseShards))
    .requiredOption('--to <name>', 'the name of the Redis that they are to be on, as REDIS_URL gives it')
    // What it needs is loaded when it is wanted: other commands start in a third of the time.
    .action(async (shards: number[], { to }: { to: string }) =>
      (await import('./run-move.ts')).runShardMove(shards, to),
    );
}
