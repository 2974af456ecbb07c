import type { KeyRecord } from '../postgres/find-key.ts';

/** Finds a key by its public part; null: there is none. */
export interface KeyLookup {
  find(prefix: string): Promise<KeyRecord | null>;
}

export interface KeyCacheLimits {
  /** Entries kept of each sort, known and unknown; the least recently used goes first. */
  entries: number;
  /** How long a known key is believed should a change never be heard of. */
  knownMs: number;
  /** How long an unknown prefix is believed to be unknown. */
  unknownMs: number;
}

interface Entry {
  record: KeyRecord | null;
  untilMs: number;
}

/** Keys as they were looked up lately. `invalidate` forgets them all, answers that are on their way included. */
export class KeyCache {
  private readonly lookup: KeyLookup;
  private readonly limits: KeyCacheLimits;
  private readonly nowMs: () => number;
  private known = new Map<string, Entry>();
  private unknown = new Map<string, Entry>();
  private pending = new Map<string, Promise<KeyRecord | null>>();

  constructor(options: { lookup: KeyLookup; limits: KeyCacheLimits; nowMs: () => number }) {
    this.lookup = options.lookup;
    this.limits = options.limits;
    this.nowMs = options.nowMs;
  }

  /** The key, at once where it is cached. Simultaneous look-ups of one prefix are one query. */
  get(prefix: string): KeyRecord | null | Promise<KeyRecord | null> {
    const cache = this.known.has(prefix) ? this.known : this.unknown;
    const entry = cache.get(prefix);
    if (entry) {
      cache.delete(prefix);
      if (entry.untilMs > this.nowMs()) {
        cache.set(prefix, entry);
        return entry.record;
      }
    }
    return this.pending.get(prefix) ?? this.fetch(prefix);
  }

  invalidate(): void {
    this.known = new Map();
    this.unknown = new Map();
    this.pending = new Map();
  }

  private fetch(prefix: string): Promise<KeyRecord | null> {
    const { known, unknown, pending } = this;
    const found = this.lookup.find(prefix).then(
      (record) => {
        pending.delete(prefix);
        // After an invalidation these maps are no longer in use: a stale answer goes nowhere.
        const untilMs = this.nowMs() + (record ? this.limits.knownMs : this.limits.unknownMs);
        this.keep(record ? known : unknown, prefix, { record, untilMs });
        return record;
      },
      (error: unknown) => {
        pending.delete(prefix);
        throw error;
      },
    );
    pending.set(prefix, found);
    return found;
  }

  private keep(cache: Map<string, Entry>, prefix: string, entry: Entry): void {
    if (cache.size >= this.limits.entries) {
      const oldest = cache.keys().next();
      if (!oldest.done) cache.delete(oldest.value);
    }
    cache.set(prefix, entry);
  }
}
