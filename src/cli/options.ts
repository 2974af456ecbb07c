import { InvalidArgumentError, Option } from 'commander';
import { SHARDS } from '../redis/keys.ts';

/** The part of a command's help that shows how to use it; each example follows `laurel`. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  laurel ${line}`).join('\n')}`;

/** An option that is a number of things, from 1 on. */
export function wholeNumber(text: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (number === 0) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return number;
}

/** The number of a shard that somebody typed. */
function parseShard(text: string): number {
  const shard = Number(text);
  if (!/^\d+$/.test(text) || shard >= SHARDS)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${SHARDS - 1}.`);
  return shard;
}

/** One more shard of those that somebody typed, each once. */
const parseShards = (text: string, before: readonly number[] | undefined): number[] => [
  ...new Set([...(before ?? []), parseShard(text)]),
];

/** `--shard <number>`, any number of times: a command is about these shards alone, without it about all. */
export const shardOption = (what: string): Option =>
  new Option('--shard <number>', `${what} this shard alone (0 to ${SHARDS - 1}); may be given several times`).argParser(
    parseShards,
  );
