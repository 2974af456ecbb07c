import { Argument, type Command } from 'commander';
import { SHARDS } from '../../redis/keys.ts';
import { parseShard } from '../shard-option.ts';

/** Adds `laurel shards move`. */
export function addShardMove(shards: Command): void {
  shards
    .command('move')
    .description('Move a shard to another Redis; its tenants are answered 503 for some seconds, nobody else is')
    .addArgument(new Argument('<shard>', `its number (0 to ${SHARDS - 1})`).argParser(parseShard))
    .requiredOption('--to <name>', 'the name of the Redis that it is to be on, as REDIS_URL gives it')
    // What it needs is loaded when it is wanted: other commands start in a third of the time.
    .action(async (shard: number, { to }: { to: string }) => (await import('./run-move.ts')).runShardMove(shard, to));
}
