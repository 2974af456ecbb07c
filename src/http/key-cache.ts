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
  /**
   * How long, from then on, it is still believed where the look-up fails or hangs: with Postgres away events are
   * taken as before. A change can hardly be made then, and would be heard of through Redis.
   */
  staleMs: number;
  /** How long an unknown prefix is believed to be unknown. */
  unknownMs: number;
}

interface Entry {
  record: KeyRecord | null;
  untilMs: number;
  /** Until when it may be used where the look-up fails. */
  staleUntilMs: number;
}

/** How long a look-up keeps a request waiting whose key was known, and how long the next request does without one. */
const PATIENCE_MS = 250;
const RETRY_MS = 5_000;

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
      const nowMs = this.nowMs();
      cache.delete(prefix);
      if (entry.untilMs > nowMs || entry.staleUntilMs > nowMs) cache.set(prefix, entry);
      if (entry.untilMs > nowMs) return entry.record;
      if (entry.staleUntilMs > nowMs) return this.renew(prefix, entry);
    }
    return this.pending.get(prefix) ?? this.fetch(prefix);
  }

  /** What the look-up of a key that was known finds; if that fails or takes too long, what was known. */
  private async renew(prefix: string, entry: Entry): Promise<KeyRecord | null> {
    const { known } = this;
    const found = this.pending.get(prefix) ?? this.fetch(prefix);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('The look-up of a key takes too long.')), PATIENCE_MS);
    });
    try {
      return await Promise.race([found, late]);
    } catch {
      found.catch(() => undefined);
      // Meanwhile keys changed: this one may be among them.
      if (known !== this.known) return this.get(prefix);
      entry.untilMs = this.nowMs() + RETRY_MS;
      return entry.record;
    } finally {
      clearTimeout(timer);
    }
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
        const staleUntilMs = record ? untilMs + this.limits.staleMs : untilMs;
        // A key that was deleted is not to be believed any longer.
        if (record === null) known.delete(prefix);
        this.keep(record ? known : unknown, prefix, { record, untilMs, staleUntilMs });
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
