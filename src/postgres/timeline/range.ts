/** Positions of a timeline page, and the numbers that identify a user. */

export interface TimelineRange {
  tenantNo: number;
  userId: string;
  /** Positions, both exclusive (`src/domain/administration/timeline.ts`). */
  above: string;
  below: string;
  /** Newest first; otherwise oldest first. */
  newest: boolean;
  limit: number;
}

/**
 * CTEs (of WITH RECURSIVE) with the distinct numbers in a user's rows, for a table whose index begins with tenant (`$1`),
 * user (`$2`) and that number. Each number costs one index step, regardless of the number of rows. `from`, `to`: parameters
 * with a window of IDs of whole partitions (`idWindows`), because rows of a partition outside the window would be read one
 * by one.
 */
const numbersOf = (
  { table, column, name }: { table: string; column: string; name: string },
  { from, to }: { from: string; to: string },
): string => `
  ${name}_steps (no) AS (
    (SELECT ${column} FROM ${table} WHERE tenant_no = $1 AND user_id = $2 AND id >= ${from}::uuid AND id < ${to}::uuid
      ORDER BY ${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${column} FROM ${table}
             WHERE tenant_no = $1 AND user_id = $2 AND ${column} > ${name}_steps.no
               AND id >= ${from}::uuid AND id < ${to}::uuid ORDER BY ${column} LIMIT 1)
      FROM ${name}_steps WHERE ${name}_steps.no IS NOT NULL
  ), ${name} (no) AS (SELECT no FROM ${name}_steps WHERE no IS NOT NULL)`;

/** `system (no)`: points systems in which the user has awards. */
export const userSystems = (window: { from: string; to: string }): string =>
  numbersOf({ table: 'awards', column: 'system_no', name: 'system' }, window);

/** `metric (no)`: metrics with events of the user. */
export const userMetrics = (window: { from: string; to: string }): string =>
  numbersOf({ table: 'events', column: 'metric_no', name: 'metric' }, window);
