import type { KeyRecord } from '../../postgres/access/keys.ts';
import { inTime } from '../../pacing/time-limit.ts';

export interface KeyLookup {
  find(prefix: string): Promise<KeyRecord | null>;
}

export interface KeyCacheLimits {
  /** Maximum number of entries in each of the caches of known and unknown keys; the least recently used ones are evicted. */
  entries: number;
  /** How long a known key is trusted if a change is never announced. */
  knownMs: number;
  /** How much longer it is trusted if the lookup fails, so that events are accepted while Postgres is away. */
  staleMs: number;
  /** How long an unknown prefix is assumed to be unknown. */
  unknownMs: number;
}

interface Entry {
  record: KeyRecord | null;
  untilMs: number;
  /** Until when it may be used if the lookup fails. */
  staleUntilMs: number;
}

/** How long a lookup may delay a request with a known key, and how long later requests skip the lookup. */
const PATIENCE_MS = 250;
const RETRY_MS = 5_000;

/** Recently used keys. `invalidate` and `forget` also discard the results of lookups in progress. */
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

  /** The key, synchronously if it is cached. Concurrent lookups of a prefix share one query. */
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

  /** The key if it is known, without a lookup and also if it is no longer trusted. */
  recall(prefix: string): KeyRecord | null {
    return this.known.get(prefix)?.record ?? null;
  }

  /** Looks up a known key again. Falls back to the cached one on failure or timeout. */
  private async renew(prefix: string, entry: Entry): Promise<KeyRecord | null> {
    const lookup = (this.pending.get(prefix) ?? this.fetch(prefix)).catch(() => 'failed' as const);
    const record = await inTime(lookup, PATIENCE_MS, 'failed' as const);
    if (record !== 'failed') return record;
    // It changed meanwhile.
    if (this.known.get(prefix) !== entry) return this.get(prefix);
    entry.untilMs = this.nowMs() + RETRY_MS;
    return entry.record;
  }

  invalidate(): void {
    this.known = new Map();
    this.unknown = new Map();
    this.pending = new Map();
  }

  /** Forgets these names only. The other keys stay valid also while Postgres is away. */
  forget(names: readonly string[]): void {
    for (const name of names) for (const map of [this.known, this.unknown, this.pending]) map.delete(name);
  }

  private fetch(prefix: string): Promise<KeyRecord | null> {
    const isCurrent = (): boolean => this.pending.get(prefix) === lookup;
    const lookup: Promise<KeyRecord | null> = this.lookup.find(prefix).then(
      (record) => {
        // The key changed meanwhile, and this may be what it was before.
        if (!isCurrent()) return record;
        this.pending.delete(prefix);
        const untilMs = this.nowMs() + (record ? this.limits.knownMs : this.limits.unknownMs);
        const staleUntilMs = record ? untilMs + this.limits.staleMs : untilMs;
        // A deleted key must no longer be trusted.
        if (record === null) this.known.delete(prefix);
        this.keep(record ? this.known : this.unknown, prefix, { record, untilMs, staleUntilMs });
        return record;
      },
      (error: unknown) => {
        if (isCurrent()) this.pending.delete(prefix);
        throw error;
      },
    );
    this.pending.set(prefix, lookup);
    return lookup;
  }

  private keep(cache: Map<string, Entry>, prefix: string, entry: Entry): void {
    if (cache.size >= this.limits.entries) {
      const oldest = cache.keys().next();
      if (!oldest.done) cache.delete(oldest.value);
    }
    cache.set(prefix, entry);
  }
}

/** Interval of recording that a key is in use. */
const USE_MS = 60_000;

/** Calls `onUse` at most once a minute per key, with the time of use (epoch ms). */
export function noteUse(key: KeyRecord, atMs: number, onUse: (key: KeyRecord, atMs: number) => void): void {
  if (key.usedMs !== null && atMs - key.usedMs < USE_MS) return;
  key.usedMs = atMs;
  onUse(key, atMs);
}
