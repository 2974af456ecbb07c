import { numberRanges } from '../../number-ranges.ts';

/**
 * What to say of shards that are on Redis which REDIS_URL does not name in this process, by shard the name: a sentence for each Redis, with
 * the numbers of its shards.
 */
export function unnamedRedisTexts(elsewhere: ReadonlyMap<number, string>): Map<string, string> {
  const shards = new Map<string, number[]>();
  for (const [shard, name] of elsewhere) shards.set(name, [...(shards.get(name) ?? []), shard]);
  return new Map([...shards].map(([name, numbers]) => [name, text(name, numbers)]));
}

function text(name: string, shards: readonly number[]): string {
  const isOne = shards.length === 1;
  const which = numberRanges(shards.toSorted((a, b) => a - b));
  return (
    `${isOne ? `Shard ${which} is` : `Shards ${which} are`} on the Redis "${name}", which REDIS_URL does not name here: this process ` +
    `answers ${isOne ? 'its' : 'their'} tenants 503 until it is started with it`
  );
}
