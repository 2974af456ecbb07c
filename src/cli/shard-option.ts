import { InvalidArgumentError, Option } from 'commander';
import { SHARDS } from '../redis/keys.ts';

/** The number of a shard that somebody typed. */
function parseShard(text: string): number {
  const shard = Number(text);
  if (!/^\d+$/.test(text) || shard >= SHARDS)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${SHARDS - 1}.`);
  return shard;
}

/** One more shard of those that somebody typed, each once. */
export const parseShards = (text: string, before: readonly number[] | undefined): number[] => [
  ...new Set([...(before ?? []), parseShard(text)]),
];

/** `--shard <number>`, any number of times: a command is about these shards alone, without it about all. */
export const shardOption = (what: string): Option =>
  new Option('--shard <number>', `${what} this shard alone (0 to ${SHARDS - 1}); may be given several times`).argParser(
    parseShards,
  );
