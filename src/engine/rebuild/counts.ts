import { shardOfKey } from '../../redis/keys.ts';
import type { Loaders } from './loader.ts';

/** Counts that are collected before they are loaded: there may be as many totals of points as users. */
const COLLECTED = 100_000;

/** What a rebuild counts, by key of a hash and its fields. */
export class Counts {
  private readonly loaders: Loaders;
  private readonly keys = new Map<string, Map<string, number>>();
  private size = 0;

  constructor(loaders: Loaders) {
    this.loaders = loaders;
  }

  /** Adds 1 to some fields. */
  add(key: string, fields: readonly string[]): void {
    let counts = this.keys.get(key);
    if (counts === undefined) this.keys.set(key, (counts = new Map()));
    for (const field of fields) {
      const count = counts.get(field);
      if (count === undefined) this.size += 1;
      counts.set(field, (count ?? 0) + 1);
    }
  }

  /** Loads what was collected, if that is much; resolves when there is room for more. */
  async relieve(): Promise<void> {
    if (this.size >= COLLECTED) await this.load();
  }

  /** Adds what was collected to what is loaded. */
  async load(): Promise<void> {
    for (const [key, counts] of this.keys) {
      const loader = this.loaders.get(shardOfKey(key))!;
      for (const [field, count] of counts) await loader.add(['HINCRBY', key, field, String(count)]);
    }
    this.keys.clear();
    this.size = 0;
  }
}
