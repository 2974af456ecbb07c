/** Some fields of an object, in the given order. */
export const picked = <T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, object[name]])) as Pick<T, K>;
