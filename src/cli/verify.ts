import type { Command } from 'commander';
import { examples, shardOption } from './command.ts';

export function addVerify(laurel: Command): void {
  laurel
    .command('verify')
    .description('compare Redis with Postgres, key by key; events may continue')
    .addOption(shardOption('compare'))
    .option('--json', 'print JSON')
    .addHelpText('after', examples('verify', 'verify --shard 3 --json'))
    // Loaded here, so that other commands start in a third of the time.
    .action(async ({ shard: shards, json = false }: { shard?: number[]; json?: boolean }) =>
      (await import('./servers.ts')).runVerify({ json, ...(shards && { shards }) }),
    );
}

export function addRebuild(laurel: Command): void {
  laurel
    .command('rebuild')
    .description('rebuild Redis from Postgres; a running Laurel answers 503 until it is done')
    .addOption(shardOption('rebuild'))
    .option('--accept-loss', 'accept a Postgres that came back older; data that only Redis had is lost')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('rebuild', 'rebuild --shard 3'))
    .action(
      async ({
        acceptLoss = false,
        shard: shards,
        json = false,
      }: {
        acceptLoss?: boolean;
        shard?: number[];
        json?: boolean;
      }) => (await import('./servers.ts')).runRebuild({ acceptLoss, json, ...(shards && { shards }) }),
    );
}
