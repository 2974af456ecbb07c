import { LaurelError, warnUnlessTransient } from '../src/errors.ts';
import type { Laurel } from '../src/laurel.ts';
import { backoffMs } from '../src/transport.ts';
import { callListener, type Live, type LiveMessage, type LiveMessages, type LiveOptions } from '../src/live.ts';
import { onWake } from '../src/wake.ts';
import { changeOf, readResource, STALE, type Resource, type ResourceData } from './resources.ts';

export type Reading<T> =
  | { status: 'loading'; data: undefined; error: undefined }
  | { status: 'ready'; data: T; error: undefined }
  /** `data` is what was read before, if it was. */
  | { status: 'failed'; data: T | undefined; error: LaurelError };

export const LOADING: Reading<never> = { status: 'loading', data: undefined, error: undefined };

/** Options of the shared live stream. */
export type StreamOptions = Pick<LiveOptions, 'onError' | 'transport'>;

/** A resource that mounted components show. */
interface Entry {
  resource: Resource;
  reading: Reading<ResourceData>;
  listeners: Set<() => void>;
  /** The running read. */
  running: Promise<void> | undefined;
  /** The read that begins after the running one. */
  next: Promise<void> | undefined;
  begunMs: number;
  /** Transient failures in a row. */
  failures: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer ends. */
  dueMs: number;
  /** Aborted when no component shows the resource any longer. */
  ending: AbortController;
}

/** Messages cause at most one read of a resource in this time. */
const BETWEEN_READS_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const QUARTER_HOUR_MS = 900_000;
/** A live stream reports at most so many leaderboards. */
const MOST_LEADERBOARDS = 20;

const toError = (error: unknown): LaurelError =>
  error instanceof LaurelError ? error : new LaurelError('unexpected_answer', String(error), { cause: error });

/** An entry of a resource that is not read yet. */
const newEntry = (id: string): Entry => ({
  resource: JSON.parse(id) as Resource,
  reading: LOADING,
  listeners: new Set(),
  running: undefined,
  next: undefined,
  begunMs: 0,
  failures: 0,
  timer: undefined,
  dueMs: 0,
  ending: new AbortController(),
});

/**
 * What the components below a provider show, by the JSON of each resource, and the live stream that they share. The stream is
 * open while a component uses it. Creating a store does nothing.
 */
export function createStore(laurel: Laurel, stream: StreamOptions | false = {}) {
  const entries = new Map<string, Entry>();
  const messageListeners = new Set<[type: string, listener: (message: never) => void]>();
  let live: Live | undefined;
  /** The leaderboards of the stream, and those of its connection, whose changes are not missed. */
  let followed: string[] = [];
  let connected: string[] = [];
  let syncTimer: ReturnType<typeof setTimeout> | undefined;
  let dayTimer: ReturnType<typeof setTimeout> | undefined;
  /** When the day timer ends, by the clock that goes on while the machine sleeps. */
  let dayDueMs = 0;
  let stopWaking: (() => void) | undefined;

  function set(entry: Entry, reading: Reading<ResourceData>): void {
    const isSame = JSON.stringify(reading.data) === JSON.stringify(entry.reading.data);
    if (isSame && reading.status === 'ready' && entry.reading.status === 'ready') return;
    // Components that depend on the data alone see the same object.
    entry.reading = isSame ? ({ ...reading, data: entry.reading.data } as Reading<ResourceData>) : reading;
    for (const listener of entry.listeners) listener();
  }

  async function readOnce(entry: Entry): Promise<void> {
    entry.begunMs = performance.now();
    try {
      const data = await readResource(laurel, entry.resource, { signal: entry.ending.signal });
      set(entry, { status: 'ready', data, error: undefined });
      entry.failures = 0;
    } catch (thrown) {
      if (entry.ending.signal.aborted) return;
      const error = toError(thrown);
      set(entry, { status: 'failed', data: entry.reading.data, error });
      if (error.isTransient && entry.listeners.size > 0) {
        readAfter(entry, backoffMs(entry.failures, { least: error.retryAfterMs ?? 0, most: LONGEST_WAIT_MS }));
        entry.failures += 1;
      }
    }
    // A stream is refused if one of its leaderboards does not exist.
    if (entry.resource.kind === 'leaderboard') scheduleSync();
  }

  /** Resolves when the entry shows everything that happened before the call; a running read may have begun earlier. */
  function read(entry: Entry): Promise<void> {
    entry.next ??= (entry.running ?? Promise.resolve()).then(() => {
      entry.next = undefined;
      entry.running = readOnce(entry);
      return entry.running;
    });
    return entry.next;
  }

  /** Unless it is read earlier anyway. */
  function readAfter(entry: Entry, waitMs: number): void {
    const dueMs = performance.now() + waitMs;
    if (entry.timer !== undefined && entry.dueMs <= dueMs) return;
    clearTimeout(entry.timer);
    entry.dueMs = dueMs;
    entry.timer = setTimeout(() => {
      entry.timer = undefined;
      void read(entry);
    }, waitMs);
  }

  const readSoon = (entry: Entry): void =>
    readAfter(entry, Math.max(0, entry.begunMs + BETWEEN_READS_MS - performance.now()));

  function onMessage(message: LiveMessage): void {
    if (message.type === 'ready') {
      // Only leaderboards that the last connection did not report were missed; after another `ready`, `read` is called.
      for (const entry of message.resumed ? entries.values() : [])
        if (entry.resource.kind === 'leaderboard' && !connected.includes(entry.resource.key)) readSoon(entry);
      connected = followed;
    }
    for (const entry of entries.values()) {
      const { data, error } = entry.reading;
      const change = changeOf(entry.resource, { data, code: error?.code }, message);
      if (change === STALE) readSoon(entry);
      else if (change !== undefined) set(entry, { status: 'ready', data: change, error: undefined });
    }
    for (const [type, listener] of messageListeners)
      if (type === message.type || type === '*') callListener(listener, message);
  }

  /** A stream is refused for good while one of its leaderboards does not exist any longer: reading them shows which. */
  function onStreamError(error: unknown): void {
    if (stream !== false) (stream.onError ?? warnUnlessTransient)(error);
    if (toError(error).isTransient) return;
    connected = [];
    for (const entry of entries.values()) if (entry.resource.kind === 'leaderboard') readSoon(entry);
  }

  /** The browser is online again, or shows the page again. */
  function wake(): void {
    for (const entry of entries.values()) if (entry.reading.error?.isTransient) readAfter(entry, 0);
    if (Date.now() < dayDueMs) return;
    clearTimeout(dayTimer);
    startDay();
  }

  /** Keys of the shown leaderboards, except those that cannot be read. */
  const shownLeaderboards = (): string[] => {
    const keys = [...entries.values()].flatMap(({ resource, reading: { error } }) =>
      resource.kind === 'leaderboard' && (error === undefined || error.isTransient) ? [resource.key] : [],
    );
    return [...new Set(keys)].slice(0, MOST_LEADERBOARDS);
  };

  /** A day of the user may have begun: that is at a quarter of an hour, and no message says so. */
  function awaitDay(): void {
    const waitMs = QUARTER_HOUR_MS - (Date.now() % QUARTER_HOUR_MS) + Math.random() * 10_000;
    dayDueMs = Date.now() + waitMs;
    dayTimer = setTimeout(startDay, waitMs);
  }

  function startDay(): void {
    for (const entry of entries.values()) if (entry.resource.kind === 'streak') readSoon(entry);
    awaitDay();
  }

  function close(): void {
    live?.close();
    live = undefined;
    connected = [];
    clearTimeout(dayTimer);
    dayTimer = undefined;
    stopWaking?.();
    stopWaking = undefined;
  }

  /** Forgets what no component shows, and makes the stream one for the rest. */
  function sync(): void {
    syncTimer = undefined;
    for (const [id, { listeners, timer, ending }] of entries) {
      if (listeners.size > 0) continue;
      clearTimeout(timer);
      ending.abort();
      entries.delete(id);
    }
    if (entries.size === 0 && messageListeners.size === 0) {
      close();
      return;
    }
    stopWaking ??= onWake(wake);
    if (dayTimer === undefined) awaitDay();
    if (stream === false) return;
    const wanted = shownLeaderboards();
    const lacks = wanted.some((key) => !followed.includes(key));
    // A leaderboard too many does no harm, except if it is why there is no connection.
    const mayBeRefused = connected !== followed && followed.some((key) => !wanted.includes(key));
    if (live !== undefined && !lacks && !mayBeRefused) return;
    followed = wanted;
    if (live !== undefined) {
      live.follow(wanted);
      return;
    }
    const readAll = () => Promise.all([...entries.values()].map(read));
    live = laurel.live({ ...stream, leaderboards: wanted, read: readAll, onError: onStreamError });
    live.on('*', onMessage);
  }

  /** After React has mounted what it mounts, and unmounted what it unmounts, also twice as in StrictMode. */
  function scheduleSync(): void {
    syncTimer ??= setTimeout(sync, 0);
  }

  return {
    laurel,
    /** The same object until it changes. */
    readingOf: (id: string): Reading<ResourceData> => entries.get(id)?.reading ?? LOADING,
    /** Keeps a resource current, and calls `listener` after each change, until the returned function is called. */
    subscribe: (id: string, listener: () => void): (() => void) => {
      let entry = entries.get(id);
      if (entry === undefined) {
        entry = newEntry(id);
        entries.set(id, entry);
        void read(entry);
      }
      const { listeners } = entry;
      listeners.add(listener);
      scheduleSync();
      return () => {
        listeners.delete(listener);
        scheduleSync();
      };
    },
    /** Reads a mounted resource again. */
    refresh: async (id: string): Promise<void> => {
      const entry = entries.get(id);
      if (entry !== undefined) await read(entry);
    },
    /** Calls `listener` with each message of a type, until the returned function is called. */
    onMessage: <Type extends keyof LiveMessages>(
      type: Type,
      listener: (message: LiveMessages[Type]) => void,
    ): (() => void) => {
      const pair: [string, (message: never) => void] = [type, listener];
      messageListeners.add(pair);
      scheduleSync();
      return () => {
        messageListeners.delete(pair);
        scheduleSync();
      };
    },
  };
}

export type Store = ReturnType<typeof createStore>;
