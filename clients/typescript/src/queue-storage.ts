import type { EventRequest } from './generated.ts';

/** An event that waits to be sent. */
export interface QueuedEvent {
  /** Unique in the storage. */
  id: string;
  /** The user of the client that tracked it; null: a client without a user. */
  owner: string | null;
  metric: string;
  event: EventRequest & { occurredAt: string };
  /** Made once, and sent with each attempt. */
  idempotencyKey: string;
}

/** Where a queue keeps its events. A call that resolves is durable. */
export interface QueueStorage {
  /** All events, oldest first. */
  load: () => Promise<QueuedEvent[]>;
  /** Stores an event. False, and nothing is stored, if there are `most` events already. */
  add: (event: QueuedEvent, most: number) => Promise<boolean>;
  /** Forgets an event by its `id`; nothing happens if it is not there. */
  remove: (id: string) => Promise<void>;
  /** Runs `work` when no other page that shares the storage runs its own. */
  exclusively?: (work: () => Promise<void>, signal: AbortSignal) => Promise<void>;
}

/** Keeps events until the process ends. */
export function memoryStorage(): QueueStorage {
  const events = new Map<string, QueuedEvent>();
  return {
    load: async () => [...events.values()],
    add: async (event, most) => {
      const fits = events.size < most;
      if (fits) events.set(event.id, event);
      return fits;
    },
    remove: async (id) => void events.delete(id),
  };
}

/** A store of texts, such as AsyncStorage of React Native, `localStorage`, or a file. */
export interface KeyValueStore {
  getItem: (key: string) => string | null | Promise<string | null>;
  setItem: (key: string, value: string) => void | Promise<void>;
}

/**
 * Keeps events in one item of a store of texts, for one queue at a time. `setItem` must replace the item as a whole, or fail.
 * @param item its name. Default: `laurel-queue`.
 */
export function keyValueStorage(store: KeyValueStore, item = 'laurel-queue'): QueueStorage {
  let turn: Promise<unknown> = Promise.resolve();
  const load = async (): Promise<QueuedEvent[]> => JSON.parse((await store.getItem(item)) ?? '[]') as QueuedEvent[];
  /** One change after another, because each writes everything. False if there is nothing to change. */
  const change = (to: (events: QueuedEvent[]) => QueuedEvent[] | null): Promise<boolean> => {
    const changed = turn.then(async () => {
      const events = to(await load());
      if (events !== null) await store.setItem(item, JSON.stringify(events));
      return events !== null;
    });
    turn = changed.catch(() => undefined);
    return changed;
  };
  return {
    load: () => turn.then(load),
    add: (event, most) => change((events) => (events.length < most ? [...events, event] : null)),
    remove: async (id) => void (await change((events) => events.filter((event) => event.id !== id))),
  };
}

// The parts of the browser's interfaces that are used here, so that the client compiles where they do not exist.
interface DatabaseRequest<T> {
  result: T;
  error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
  onupgradeneeded?: (() => void) | null;
}
interface Store {
  getAll: () => DatabaseRequest<QueuedEvent[]>;
  add: (event: QueuedEvent) => unknown;
  count: () => DatabaseRequest<number>;
  index: (name: string) => { getKey: (key: string) => DatabaseRequest<number | undefined> };
  delete: (key: number) => unknown;
}
interface Transaction {
  objectStore: (name: string) => Store;
  error: unknown;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
}
interface Database {
  createObjectStore: (name: string, options: object) => { createIndex: (name: string, path: string) => unknown };
  transaction: (store: string, mode: string, options?: object) => Transaction;
}
interface BrowserGlobals {
  indexedDB: { open: (name: string, version: number) => DatabaseRequest<Database> };
  navigator?: {
    locks?: { request: (name: string, options: { signal: AbortSignal }, work: () => Promise<void>) => Promise<void> };
  };
}

const result = <T>(request: DatabaseRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/**
 * Keeps events in the browser's IndexedDB. Pages of one origin share them, and one of them sends at a time.
 * @param name of the database. Default: `laurel-queue`.
 */
export function indexedDbStorage(name = 'laurel-queue'): QueueStorage {
  const { indexedDB, navigator } = globalThis as unknown as BrowserGlobals;
  let opened: Promise<Database> | undefined;

  async function open(): Promise<Database> {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      const events = request.result.createObjectStore('events', { autoIncrement: true });
      events.createIndex('id', 'id');
    };
    return result(request);
  }
  /** Resolves when the transaction is on disk. */
  async function transact<T>(mode: 'readonly' | 'readwrite', work: (store: Store) => Promise<T> | T): Promise<T> {
    opened ??= open();
    opened.catch(() => (opened = undefined));
    const transaction = (await opened).transaction('events', mode, { durability: 'strict' });
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    const [value] = await Promise.all([work(transaction.objectStore('events')), done]);
    return value;
  }

  return {
    load: () => transact('readonly', (store) => result(store.getAll())),
    add: (event, most) =>
      transact('readwrite', async (store) => {
        const fits = (await result(store.count())) < most;
        if (fits) store.add(event);
        return fits;
      }),
    remove: (id) =>
      transact('readwrite', async (store) => {
        const position = await result(store.index('id').getKey(id));
        if (position !== undefined) store.delete(position);
      }),
    exclusively: (work, signal) => {
      const locks = navigator?.locks;
      return locks === undefined ? work() : locks.request(name, { signal }, work);
    },
  };
}
