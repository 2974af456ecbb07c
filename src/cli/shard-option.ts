import { InvalidArgumentError, Option } from 'commander';
import { SHARDS } from '../redis/keys.ts';

/** `--shard <number>`, any number of times: a command is about these shards alone, without it about all. */
export const shardOption = (what: string): Option =>
  new Option('--shard <number>', `${what} this shard alone (0 to ${SHARDS - 1}); may be given several times`).argParser(
    (text: string, before: number[] | undefined) => {
      const shard = Number(text);
      if (!/^\d+$/.test(text) || shard >= SHARDS)
        throw new InvalidArgumentError(`It must be a whole number from 0 to ${SHARDS - 1}.`);
      return [...new Set([...(before ?? []), shard])];
    },
  );
