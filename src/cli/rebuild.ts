import type { Command } from 'commander';
import { rebuildAnyway } from '../engine/rebuild/accept.ts';
import { progressLine, withServers } from './servers.ts';

/** Adds `laurel rebuild`. */
export function addRebuild(laurel: Command): void {
  laurel
    .command('rebuild')
    .description('Make Redis anew from Postgres; a running Laurel answers 503 until it is done')
    .action(() =>
      withServers(async ({ redis, pool }) => {
        const startedMs = performance.now();
        await rebuildAnyway({ redis, pool, onProgress: progressLine() });
        process.stdout.write(`\nRedis is rebuilt, in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.\n`);
      }),
    );
}
