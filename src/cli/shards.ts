import type { Command } from 'commander';
import { addShardList } from './shards/list.ts';
import { addShardMove } from './shards/move.ts';

/** Adds `laurel shards …`: on which Redis each shard is, and to move it. */
export function addShards(laurel: Command): void {
  const shards = laurel
    .command('shards')
    .description('Where the shards of the live state are, if there are several Redis');
  for (const add of [addShardList, addShardMove]) add(shards);
}
