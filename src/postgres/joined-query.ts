import { setImmediate as turn } from 'node:timers/promises';
import type { Pool } from 'pg';

type ListQuery<V, R> = (pool: Pool, values: readonly V[]) => Promise<R[]>;

/**
 * Joins the calls that one turn of the event loop makes into one statement. Each call gets the rows of its own values. The
 * statement starts after all of these calls, so none of them sees an older state than it would alone. Each round of the
 * schedule asks once for all kinds of work instead of once for each.
 */
export function joined<V, R>(query: ListQuery<V, R>, valueOf: (row: R) => V): ListQuery<V, R> {
  const waiting = new WeakMap<Pool, { values: Set<V>; rows: Promise<R[]> }>();
  return async (pool, values) => {
    let call = waiting.get(pool);
    if (call === undefined) {
      const all = new Set<V>();
      const rows = turn().then(() => {
        waiting.delete(pool);
        return query(pool, [...all]);
      });
      waiting.set(pool, (call = { values: all, rows }));
    }
    for (const value of values) call.values.add(value);
    return (await call.rows).filter((row) => values.includes(valueOf(row)));
  };
}
