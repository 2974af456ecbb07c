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

/** Waits until `holds` does; fails after 5 s. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Not so after 5 s: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
