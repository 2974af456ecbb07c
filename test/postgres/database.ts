import type { Pool } from 'pg';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

export interface TestDatabase {
  stack: TestStack;
  pool: Pool;
  close(): Promise<void>;
}

/** A stack with a migrated database and a pool; with a Redis unless none is wanted. */
export async function testDatabase({ redis = true }: { redis?: boolean } = {}): Promise<TestDatabase> {
  const stack = await testStack({ database: 'migrated', redis });
  const pool = createPool(stack.databaseUrl, { max: 4 });
  return {
    stack,
    pool,
    close: async () => {
      await pool.end();
      await stack.close();
    },
  };
}
