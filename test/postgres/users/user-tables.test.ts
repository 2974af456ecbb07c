import { expect, test } from 'vitest';
import { MOVES } from '../../../src/postgres/users/merges.ts';
import { USER_TABLES } from '../../../src/postgres/users/user-tables.ts';
import { testDatabase } from '../database.ts';

test('deletion and export know every table with rows about users, with an order that distinguishes the rows', async () => {
  const database = await testDatabase({ redis: false });
  try {
    const { rows } = await database.pool.query<{ table: string; columns: string[] }>(
      `SELECT table_name AS "table", array_agg(column_name::text) AS columns
         FROM information_schema.columns JOIN pg_class ON relname = table_name AND relnamespace = current_schema()::regnamespace
        WHERE table_schema = current_schema() AND NOT relispartition
        GROUP BY table_name HAVING bool_or(column_name = 'user_id')`,
    );
    const named = rows.map(({ table }) => table);
    // Two tables have another name for the user column.
    expect([...named, 'users', 'audit_log'].toSorted()).toEqual(USER_TABLES.map(({ table }) => table).toSorted());
    for (const { table, columns } of rows) {
      const { order, hidden = [] } = USER_TABLES.find((known) => known.table === table)!;
      expect(columns).toEqual(expect.arrayContaining(['tenant_no', ...order, ...hidden]));
      const unique = await database.pool.query<{ columns: string[] }>(
        `SELECT array_agg(attname::text) AS columns
           FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY ((indkey::int2[])[:indnkeyatts - 1])
          WHERE indrelid = $1::regclass AND indisunique GROUP BY indexrelid`,
        [table],
      );
      const columnsOfOrder = ['tenant_no', 'user_id', ...order];
      expect(unique.rows.some((index) => index.columns.every((column) => columnsOfOrder.includes(column)))).toBe(true);
    }
  } finally {
    await database.close();
  }
});

test('a merge has a rule for the rows of each table', () => {
  // Beside the list: keys and streak changes have steps of their own, and the audit log keeps the IDs of that time.
  const others = ['used_keys', 'application_keys', 'streak_changes', 'audit_log'];
  const ruled = USER_TABLES.map(({ table }) => table).filter((table) =>
    MOVES.some((statement) =>
      new RegExp(`^\\s*(?:WITH gone AS \\()?(?:UPDATE|DELETE FROM) ${table}\\b`).test(statement),
    ),
  );
  expect([...ruled, ...others].toSorted()).toEqual(USER_TABLES.map(({ table }) => table).toSorted());
});
