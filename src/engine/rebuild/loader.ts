import type { Redis } from 'ioredis';
import type { Belief } from '../../redis/gate.ts';
import { scriptNamed } from '../../redis/script.ts';

/** Lua passes at most about 8,000 words to a command. */
const MAX_PAIRS = 3_000;
/** Words of one call, which takes Redis a few milliseconds. */
const MAX_WORDS = 20_000;
/** Words that all loaders of a rebuild hold together: memory must not grow with the number of shards. */
const MAX_WAITING = 200_000;

/** The rebuild must not continue: another one has begun, or Redis is another process than at first. */
export class RebuildOvertaken extends Error {}

type Word = string | Buffer;

/** Writes to one shard for a rebuild, many commands per call. Throws RedisNotReady after another rebuild took over or Redis restarted. */
export class Loader {
  /** Shared by the loaders of all shards, so that an empty Redis receives the library once. */
  private readonly script = scriptNamed('load_rebuilt');
  private readonly redis: Redis;
  private readonly maxWords: number;
  /** That this rebuild is the one at work on the shard (`rebuildingKey`). */
  readonly belief: Belief;
  private words: Word[] = [];
  private sending: Promise<void> = Promise.resolve();

  /** `beside`: how many other loaders work at the same time. */
  constructor({ redis, belief, beside = 0 }: { redis: Redis; belief: Belief; beside?: number }) {
    this.redis = redis;
    this.maxWords = Math.min(MAX_WORDS, Math.ceil(MAX_WAITING / (beside + 1)));
    this.belief = belief;
  }

  /** Adds a command with any number of pairs after its first words (MSET, ZADD, HSET); resolves when there is room for more. */
  async addPairs(head: Word[], pairs: Word[]): Promise<void> {
    for (let at = 0; at < pairs.length; at += MAX_PAIRS * 2) {
      await this.add([...head, ...pairs.slice(at, at + MAX_PAIRS * 2)]);
    }
  }

  /** Adds a command, or USED.note; resolves when there is room for more. */
  async add(command: Word[]): Promise<void> {
    this.words.push(String(command.length), ...command);
    if (this.words.length >= this.maxWords) await this.send();
  }

  /** Resolves when Redis has everything. */
  async flush(): Promise<void> {
    await this.send();
    await this.sending;
  }

  /** The next call is put together while one is in flight. */
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

/** The loaders of the shards that are rebuilt, by shard. */
export type Loaders = ReadonlyMap<number, Loader>;

/** Resolves when Redis has everything from all loaders. */
export async function flushed(loaders: Loaders): Promise<void> {
  await Promise.all(Array.from(loaders.values(), (loader) => loader.flush()));
}
