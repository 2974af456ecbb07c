import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';

/**
 * Makes a thing once for each version of a catalog and key: parts of payloads that depend on nothing else, with which the
 * notifications of an event that moves two boards take 26 µs instead of 44. The keys must be few, for what was made is kept as long as the version is.
 */
export function onceACatalog<K, T>(): (compiled: CompiledCatalog, key: K, make: () => T) => T {
  const made = new WeakMap<CompiledCatalog, Map<K, T>>();
  return (compiled, key, make) => {
    let known = made.get(compiled);
    if (known === undefined) made.set(compiled, (known = new Map()));
    let value = known.get(key);
    if (value === undefined) known.set(key, (value = make()));
    return value;
  };
}
