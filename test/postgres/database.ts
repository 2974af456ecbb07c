import type { Pool } from 'pg';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

export interface TestDatabase {
  stack: TestStack;
  pool: Pool;
  close(): Promise<void>;
}

/** A stack with a migrated database and a pool on it. */
export async function testDatabase(): Promise<TestDatabase> {
  const stack = await testStack();
  const pool = createPool(stack.databaseUrl, { max: 4 });
  await migrate(pool);
  return {
    stack,
    pool,
    close: async () => {
      await pool.end();
      await stack.close();
    },
  };
}
