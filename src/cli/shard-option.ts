import { InvalidArgumentError, Option } from 'commander';
import { SHARDS } from '../redis/keys.ts';

/** The number of a shard that somebody typed. */
export function parseShard(text: string): number {
  const shard = Number(text);
  if (!/^\d+$/.test(text) || shard >= SHARDS)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${SHARDS - 1}.`);
  return shard;
}

/** `--shard <number>`, any number of times: a command is about these shards alone, without it about all. */
export const shardOption = (what: string): Option =>
  new Option('--shard <number>', `${what} this shard alone (0 to ${SHARDS - 1}); may be given several times`).argParser(
    (text: string, before: number[] | undefined) => [...new Set([...(before ?? []), parseShard(text)])],
  );
