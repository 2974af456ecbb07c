import type { Redis } from 'ioredis';
import type { Belief } from '../../redis/gate.ts';
import { Script } from '../../redis/script.ts';

/** Lua takes at most some 8,000 words of a command. */
const MAX_PAIRS = 3_000;
/** Words a call: some ms of Redis. */
const MAX_WORDS = 20_000;
/** Words that wait in all loaders of a rebuild together, so that memory does not grow with the number of shards. */
const MAX_WAITING = 200_000;

/** Thrown when a rebuild may not go on: another one has begun, or Redis is not the one it began with. */
export class RebuildOvertaken extends Error {}

type Word = string | Buffer;

/**
 * Writes to one shard for a rebuild, many commands a call. RedisNotReady once another rebuild has taken over, or Redis is another
 * process.
 */
export class Loader {
  private readonly script = new Script('load_rebuilt');
  private readonly redis: Redis;
  private readonly maxWords: number;
  /** That the shard is being rebuilt, by this rebuild (`rebuildingKey`). */
  readonly belief: Belief;
  private words: Word[] = [];
  private sending: Promise<void> = Promise.resolve();

  /** `beside`: how many others work at the same time. */
  constructor({ redis, belief, beside = 0 }: { redis: Redis; belief: Belief; beside?: number }) {
    this.redis = redis;
    this.maxWords = Math.min(MAX_WORDS, Math.ceil(MAX_WAITING / (beside + 1)));
    this.belief = belief;
  }

  /** A command with any number of pairs of words behind its first ones (MSET, ZADD, HSET); resolves when there is room for more. */
  async addPairs(head: Word[], pairs: Word[]): Promise<void> {
    for (let at = 0; at < pairs.length; at += MAX_PAIRS * 2) {
      await this.add([...head, ...pairs.slice(at, at + MAX_PAIRS * 2)]);
    }
  }

  /** A command, or USED.note; resolves when there is room for more. */
  async add(command: Word[]): Promise<void> {
    this.words.push(String(command.length), ...command);
    if (this.words.length >= this.maxWords) await this.send();
  }

  /** Resolves when Redis has everything. */
  async flush(): Promise<void> {
    await this.send();
    await this.sending;
  }

  /** One call is on its way while the next one is put together. */
  private async send(): Promise<void> {
    const { words } = this;
    if (words.length === 0) return;
    this.words = [];
    await this.sending;
    this.sending = this.call(words);
    this.sending.catch(() => undefined);
  }

  private async call(words: Word[]): Promise<void> {
    await this.script.runBelieving(this.redis, this.belief, { keys: [this.belief.key], args: words });
  }
}

/** By shard: the loaders of the shards that are rebuilt. */
export type Loaders = ReadonlyMap<number, Loader>;

/** Resolves when Redis has everything of all of them. */
export async function flushed(loaders: Loaders): Promise<void> {
  await Promise.all(Array.from(loaders.values(), (loader) => loader.flush()));
}
