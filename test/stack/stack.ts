import type { Part } from './left-behind.ts';
import { freshDatabase, type Preparing } from './fresh-database.ts';
import { freshRedis } from './fresh-redis.ts';
import { clusterPart } from './own-cluster.ts';
import { openStacks } from './open-stacks.ts';

export interface TestStack {
  /** A Redis that nothing else uses, empty at first, or a cluster. */
  redisUrl: string;
  /** A database that nothing else uses. */
  databaseUrl: string;
  /**
   * Drops the database and ends the Redis, closing open connections. Throws if there were any: a test closes what it opens.
   */
  close(): Promise<void>;
}

export interface StackOptions {
  /** True: Redis keeps acknowledged writes through a kill (`appendfsync always`), as in production. */
  durable?: boolean;
  /**
   * 'empty': no migration is applied; 'migrated': copied from the run's template, in a fifth of the time that migrating
   * takes.
   */
  database?: 'empty' | 'migrated' | 'none';
  prepare?: Preparing;
  redis?: boolean;
  /** Whether Redis is a cluster. */
  cluster?: boolean;
}

/**
 * A fresh database and a fresh Redis for one test file, or the one that it needs. Both end with the run, also when a test
 * fails or the run is interrupted.
 */
export async function testStack(options: StackOptions = {}): Promise<TestStack> {
  const { durable = false, database = 'empty', redis = true, cluster = false, prepare } = options;
  const parts = await Promise.all([
    redis ? (cluster ? clusterPart() : freshRedis(durable)) : none('Redis'),
    database === 'none' ? none('database') : freshDatabase(database === 'migrated', prepare),
  ]);
  openStacks.add(parts);
  return {
    get redisUrl() {
      return parts[0].url;
    },
    get databaseUrl() {
      return parts[1].url;
    },
    close: async () => {
      openStacks.delete(parts);
      await Promise.all(parts.map((part) => part.close()));
    },
  };
}

const none = (what: string): Part => ({
  get url(): string {
    throw new Error(`This test file has asked for a stack without a ${what}.`);
  },
  close: async () => undefined,
});
