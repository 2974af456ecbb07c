import { afterAll, beforeAll } from 'vitest';

/** Names of the methods of `T` that take no argument. */
type Method<T> = { [K in keyof T]: T[K] extends () => unknown ? K : never }[keyof T];

/**
 * Opens something before the tests of the file or group that calls this, and ends it after them; what was opened last ends first.
 * The result stands for what is opened: only tests and hooks may use it.
 * @param end name of the method that ends it
 */
export function opened<T extends object>(open: () => T | Promise<T>, end = 'close' as Method<T>): T {
  let value: T | undefined;
  beforeAll(async () => {
    value = await open();
  });
  afterAll(async () => {
    if (value !== undefined) await (value[end] as () => unknown).call(value);
  });
  const present = (): T => {
    if (value === undefined) throw new Error('It is not open: only tests and hooks may use it.');
    return value;
  };
  return new Proxy({} as T, {
    get: (_, name) => {
      const found: unknown = Reflect.get(present(), name);
      return typeof found === 'function' ? (found.bind(present()) as unknown) : found;
    },
    set: (_, name, given) => Reflect.set(present(), name, given),
    has: (_, name) => Reflect.has(present(), name),
    getPrototypeOf: () => Reflect.getPrototypeOf(present()),
  });
}
