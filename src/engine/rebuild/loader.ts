import type { Redis } from 'ioredis';
import { rebuildingKey } from '../../redis/keys.ts';
import { Script } from '../../redis/script.ts';

/** Lua takes at most some 8,000 words of a command. */
const MAX_PAIRS = 3_000;
/** Words a call: some ms of Redis. */
const MAX_WORDS = 20_000;

/** Thrown when a rebuild may not go on: another one has begun, or Redis is not the one it began with. */
export class RebuildOvertaken extends Error {}

type Word = string | Buffer;

/** Writes to one shard for a rebuild, many commands a call; refuses once another rebuild has taken over. */
export class Loader {
  private readonly script = new Script('load_rebuilt');
  private readonly redis: Redis;
  private readonly shard: number;
  private readonly mark: string;
  private words: Word[] = [];
  private sending: Promise<void> = Promise.resolve();

  /** `mark`: that of the rebuild, which has been set as the shard's `rebuildingKey`. */
  constructor({ redis, shard, mark }: { redis: Redis; shard: number; mark: string }) {
    this.redis = redis;
    this.shard = shard;
    this.mark = mark;
  }

  /** A command with any number of pairs of words behind its first ones (MSET, ZADD, HSET); resolves when there is room for more. */
  async addPairs(head: Word[], pairs: Word[]): Promise<void> {
    for (let at = 0; at < pairs.length; at += MAX_PAIRS * 2) {
      await this.add([...head, ...pairs.slice(at, at + MAX_PAIRS * 2)]);
    }
  }

  /** A command; resolves when there is room for more. */
  async add(command: Word[]): Promise<void> {
    this.words.push(String(command.length), ...command);
    if (this.words.length >= MAX_WORDS) await this.send();
  }

  /** Resolves when Redis has everything. Throws RebuildOvertaken. */
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
    const done = await this.script.runUnguarded(this.redis, [rebuildingKey(this.shard)], [this.mark, ...words]);
    if (done !== 1) throw new RebuildOvertaken('The rebuild was overtaken by another one, or Redis was restarted.');
  }
}
